/** The operators' page on a free port, over a local run's file. */
import type { Admission } from "../../../bin/operate/admission/admission.ts";
import { onLoopback } from "../../../bin/operate/admission/on-loopback.ts";
import { openLocalSource } from "../../../bin/operate/open-source.ts";
import { createOperatorsPage } from "../../../bin/operate/operators-page.ts";
import { startOperateServer } from "../../../bin/operate/server.ts";
import { type Log, silentLog } from "../../../lambdas/shared/log.ts";

export async function servePage({
  folder,
  admission = onLoopback(),
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
