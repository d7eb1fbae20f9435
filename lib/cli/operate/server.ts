/** Serves the operators' page: on a listener of its own, or beside the local page. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Door } from "@sekisho/local/web/door.ts";
import { startPageServer } from "@sekisho/local/web/page-server.ts";
import type { Site } from "@sekisho/local/web/site.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { type LocalRun, openLocalSource } from "./open-source.ts";
import { createOperatorsPage, type OperatorsPage } from "./operators-page.ts";

const maxConnections = 256;

export type OperateServer = { url: string; close(): Promise<void> };

type OperateOptions = { page: OperatorsPage; hostname: string; port: number; log: Log };

/**
 * Starts a listener for the page alone, so that a tunnel to the zone's port never leads to it. Rejects with a message for a person if
 * the port is taken.
 */
export async function startOperateServer({
  page,
  hostname,
  port,
  log,
}: OperateOptions): Promise<OperateServer> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await page.handle(request, response))) response.writeHead(404).end();
  }

  const server = await startPageServer({
    answer,
    hostname,
    port,
    portSetting: "--port",
    maxConnections,
    log,
  });
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${server.port}`,
    async close() {
      page.close();
      await server.close();
    },
  };
}

/** Call `close` before the server's, so that open streams do not hold it up. */
export type PageBesideRun = Site & { close(): Promise<void> };

/** Opens the page for the server of the local page. The run must have created the `store`. */
export function openPageBesideRun({
  door,
  log,
  ...run
}: LocalRun & { door: Door; log: Log }): PageBesideRun {
  const stop = new AbortController();
  const source = openLocalSource({ ...run, signal: stop.signal });
  const { handle, close } = createOperatorsPage({ source, admission: door, localPage: "/", log });
  return {
    handle,
    async close() {
      close();
      stop.abort();
      await source.close();
    },
  };
}
