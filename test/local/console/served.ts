/** The operators' page on a free port, over a local run's file. */

import { type Log, silentLog } from "../../../lambdas/shared/log.ts";
import { openLocalSource } from "../../../lib/local/console/open-source.ts";
import { createOperatorsPage } from "../../../lib/local/console/operators-page.ts";
import { startOperateServer } from "../../../lib/local/console/server.ts";
import type { Admission } from "../../../lib/local/web/admission.ts";
import { createDoor } from "../../../lib/local/web/door.ts";

export async function servePage({
  folder,
  admission,
  hostname = "127.0.0.1",
  log = silentLog,
}: {
  folder: string;
  admission?: Admission;
  hostname?: string;
  log?: Log;
}) {
  const door = createDoor();
  const stop = new AbortController();
  const source = openLocalSource({ config: { directory: folder }, signal: stop.signal });
  const page = createOperatorsPage({ source, admission: admission ?? door, pollMs: 20, log });
  const server = await startOperateServer({ page, hostname, port: 0, log });
  return {
    url: server.url,
    /** As it is printed on loopback. */
    address: door.address(`${server.url}/operate/`),
    async close() {
      await server.close();
      stop.abort();
      await source.close();
    },
  };
}
