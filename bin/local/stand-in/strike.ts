/** How a fault is answered, and how the stand-in answers at all. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Fault } from "./faults.ts";
import type { MethodReply } from "./reply.ts";

/** Resolves to true where the fault has answered, and nothing is to be done any more. */
export async function refuse({
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
      send(response, 429, { ok: false, error: "ratelimited" });
      return true;
    case "status":
      send(response, fault.status);
      return true;
    case "error":
      send(response, 200, { ok: false, error: fault.error });
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
export function send(response: ServerResponse, status: number, reply?: MethodReply): void {
  response.writeHead(status, { "content-type": reply === undefined ? "text/html" : "application/json; charset=utf-8" });
  response.end(reply === undefined ? "<html>not an API answer</html>" : JSON.stringify(reply));
}
