/** Failures between a client and Slack, on demand. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { MethodReply } from "./reply.ts";

/**
 * A fault of the next call of `method`; `upload` and `download` are those of files.
 * `rate_limited`: 429 with Retry-After, no effect. `status`: that HTTP status, no effect. `error`: `ok: false`, no effect.
 * `reset`: the connection is cut before any effect. `lost_answer`: the effect happens, then the connection is cut.
 * `late`: effect and answer come after `delayMs`, even if the client has gone.
 */
export type Fault = { method: string } & (
  | { type: "rate_limited"; retryAfterSeconds: number }
  | { type: "status"; status: number }
  | { type: "error"; error: string }
  | { type: "reset" }
  | { type: "lost_answer" }
  | { type: "late"; delayMs: number }
);

/** Takes the oldest fault for the method, which happens once. */
export type TakeFault = (method: string) => Fault | undefined;

export type FakeRequest = {
  request: IncomingMessage;
  response: ServerResponse;
  signal: AbortSignal;
};

/** Resolves to true if the fault was the answer. Otherwise the call goes on. */
export async function applyFault(
  fault: Fault,
  { request, response, signal }: FakeRequest,
): Promise<boolean> {
  if (fault.type === "lost_answer") return false;
  if (fault.type === "late") {
    await wait(fault.delayMs, undefined, { signal });
    return false;
  }
  if (fault.type === "reset") request.socket.destroy();
  else if (fault.type === "status") sendReply(response, fault.status);
  else if (fault.type === "error") sendReply(response, 200, { ok: false, error: fault.error });
  else {
    response.setHeader("retry-after", fault.retryAfterSeconds);
    sendReply(response, 429, { ok: false, error: "ratelimited" });
  }
  return true;
}

/** Without a reply it is an HTML page, as Slack answers what is not an API call. */
export function sendReply(response: ServerResponse, status: number, reply?: MethodReply): void {
  response.writeHead(status, {
    "content-type": reply === undefined ? "text/html" : "application/json; charset=utf-8",
  });
  response.end(reply === undefined ? "<html>not an API answer</html>" : JSON.stringify(reply));
}
