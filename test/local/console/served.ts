/** The operators' page on a free port, over a local run's file. */

import { type Log, silentLog } from "../../../lambdas/shared/log.ts";
import type { Admission } from "../../../lib/local/console/admission/admission.ts";
import { createLoopbackAdmission } from "../../../lib/local/console/admission/loopback-admission.ts";
import { openLocalSource } from "../../../lib/local/console/open-source.ts";
import { createOperatorsPage } from "../../../lib/local/console/operators-page.ts";
import { startOperateServer } from "../../../lib/local/console/server.ts";
import { createDoor } from "../../../lib/local/web/door.ts";

/** In the printed address of a page on loopback. */
export const pageToken = "a-token-of-this-page";

export async function servePage({
  folder,
  admission = createLoopbackAdmission({ door: createDoor({ token: pageToken }) }),
  hostname = "127.0.0.1",
  log = silentLog,
}: {
  folder: string;
  admission?: Admission;
  hostname?: string;
  log?: Log;
}) {
  const stop = new AbortController();
  const source = openLocalSource({ config: { directory: folder }, signal: stop.signal });
  const page = createOperatorsPage({ source, admission, pollMs: 20, log });
  const server = await startOperateServer({ page, hostname, port: 0, log });
  return {
    url: server.url,
    async close() {
      await server.close();
      stop.abort();
      await source.close();
    },
  };
}
