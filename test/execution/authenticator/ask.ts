/** Asks a real server of a host as a caller with a token does, and as one who never sends the body that it announced. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { createTestHost, hello } from "../test-host.ts";

/** Closed after the test. */
export function closeLater<T extends { close(): Promise<unknown> }>(resource: T): T {
  afterTest(() => resource.close());
  return resource;
}

export type Said = { status: number; wwwAuthenticate: string | undefined; body: string };

export async function serveAuthenticator(authenticator: Authenticator) {
  const { host, lines } = createTestHost({ authenticator });
  const { url } = closeLater(await startExecutionServer({ host, port: 0 }));
  return {
    host,
    /** Every line that was logged. */
    lines,
    /** The reason of the refusal, or the status of the result. */
    async call(
      token: string,
      { method = "execute_task", params = hello as unknown, id = crypto.randomUUID() } = {},
    ) {
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
      const clientRequest = request(url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "content-length": 100,
        },
      });
      // The server may close before all of a large header is written.
      clientRequest.on("error", () => {});
      clientRequest.flushHeaders();
      const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      clientRequest.destroy();
      const { statusCode: status = 0, headers } = response;
      return {
        status,
        wwwAuthenticate: headers["www-authenticate"],
        body: Buffer.concat(chunks).toString(),
      };
    },
  };
}

/** A refusal without the id of a request, which nobody has read. */
function refusal(
  status: number,
  code: number,
  message: string,
  data: { reason: string; retryable: boolean },
): Said {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message, data } });
  return { status, wwwAuthenticate: status === 401 ? "Bearer" : undefined, body };
}

export const unauthenticated = refusal(401, -32066, "The caller could not be authenticated.", {
  reason: "unauthenticated",
  retryable: false,
});
export const permissionDenied = refusal(403, -32067, "The caller may not do that.", {
  reason: "permission_denied",
  retryable: false,
});
export const unavailable = refusal(200, -32071, "The service is not available; try again later.", {
  reason: "unavailable",
  retryable: true,
});
