/** Asks a real server of a host as a caller with a token does, and as one who never sends the body that it announced. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterEach } from "@jest/globals";
import type { Authenticator } from "../../../lambdas/execution/http/exchange.ts";
import { startExecutionServer } from "../../../lambdas/execution/http/server.ts";
import { createTestHost, hello } from "../test-host.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Closed after the test. */
export function closeLater<T extends { close(): Promise<unknown> }>(opened: T): T {
  closing.push(() => opened.close());
  return opened;
}

export type Said = { status: number; wwwAuthenticate: string | undefined; body: string };

export async function serve(authenticator: Authenticator) {
  const { host, lines } = createTestHost({ authenticator });
  const { url } = closeLater(await startExecutionServer({ host, port: 0 }));
  return {
    host,
    /** Every line that was logged. */
    lines,
    /** The reason of the refusal, or the status of the result. */
    async call(token: string, { method = "execute_task", params = hello as unknown, id = crypto.randomUUID() } = {}) {
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const response = await fetch(url, { method: "POST", headers, body });
      const { result, error } = (await response.json()) as {
        result?: { status: string };
        error?: { data: { reason: string } };
      };
      return result?.status ?? error?.data.reason;
    },
    /** What a caller hears who has sent the headers only: nobody waited for the body. */
    async hear(token: string): Promise<Said> {
      const sent = request(url, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "content-length": 100 },
      });
      // The server may close before all of a large header is written.
      sent.on("error", () => {});
      sent.flushHeaders();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      sent.destroy();
      const { statusCode: status = 0, headers } = response;
      return { status, wwwAuthenticate: headers["www-authenticate"], body: Buffer.concat(chunks).toString() };
    },
  };
}

export const unauthenticated: Said = {
  status: 401,
  wwwAuthenticate: "Bearer",
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: {
      code: -32066,
      message: "The caller could not be authenticated.",
      data: { reason: "unauthenticated", retryable: false },
    },
  }),
};

export const permissionDenied: Said = {
  status: 403,
  wwwAuthenticate: undefined,
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: {
      code: -32067,
      message: "The caller may not do that.",
      data: { reason: "permission_denied", retryable: false },
    },
  }),
};

export const unavailable: Said = {
  status: 200,
  wwwAuthenticate: undefined,
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: {
      code: -32071,
      message: "The service is not available; try again later.",
      data: { reason: "unavailable", retryable: true },
    },
  }),
};
