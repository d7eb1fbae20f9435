/** The headers that every HTTP transport sends with a request. */
import { traceHeaders } from "../../shared/trace.ts";
import type { TransportRequest } from "./transport.ts";

const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";

export function requestHeaders({
  sessionId,
  trace,
}: Pick<TransportRequest, "sessionId" | "trace">): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json",
    [sessionHeader]: sessionId,
    ...traceHeaders(trace),
  };
}
