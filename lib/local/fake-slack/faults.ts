/** What can go wrong between a client and Slack, on demand: each fault strikes the next call of its method. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { MethodReply } from "./reply.ts";

/**
 * `rate_limited`: 429 with Retry-After, no effect. `status`: that HTTP status, no effect. `error`: `ok: false`, no effect.
 * `reset`: the connection is cut before any effect. `lost_answer`: the effect happens, then the connection is cut.
 * `late`: effect and answer come after `delayMs`, whether somebody still waits or not.
 */
export type Fault = { method: string } & (
  | { type: "rate_limited"; retryAfterSeconds: number }
  | { type: "status"; status: number }
  | { type: "error"; error: string }
  | { type: "reset" }
  | { type: "lost_answer" }
  | { type: "late"; delayMs: number }
);

export type Faults = {
  inject(fault: Fault): void;
  /** The oldest fault waiting for the method; it strikes once. */
  take(method: string): Fault | undefined;
};

export function createFaults(): Faults {
  const waiting: Fault[] = [];
  return {
    inject: (fault) => void waiting.push(fault),
    take(method) {
      const index = waiting.findIndex((fault) => fault.method === method);
      return index < 0 ? undefined : waiting.splice(index, 1)[0];
    },
  };
}

// How a fault is answered, and how the fake Slack answers at all.

/** Resolves to true where the fault has answered, and nothing is to be done any more. */
export async function applyFault({
  fault,
  request,
  response,
  signal,
}: {
  fault: Fault;
  request: IncomingMessage;
  response: ServerResponse;
  signal: AbortSignal;
}): Promise<boolean> {
  switch (fault.type) {
    case "rate_limited":
      response.setHeader("retry-after", fault.retryAfterSeconds);
      sendReply(response, 429, { ok: false, error: "ratelimited" });
      return true;
    case "status":
      sendReply(response, fault.status);
      return true;
    case "error":
      sendReply(response, 200, { ok: false, error: fault.error });
      return true;
    case "reset":
      request.socket.destroy();
      return true;
    case "late":
      await wait(fault.delayMs, undefined, { signal });
      return false;
    case "lost_answer":
      return false;
  }
}

/** Without a reply it is a page, as Slack has them for what is no call. */
export function sendReply(response: ServerResponse, status: number, reply?: MethodReply): void {
  response.writeHead(status, { "content-type": reply === undefined ? "text/html" : "application/json; charset=utf-8" });
  response.end(reply === undefined ? "<html>not an API answer</html>" : JSON.stringify(reply));
}
