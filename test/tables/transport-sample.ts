/** The common fields of the calls of all conformance cases of transports. */
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";

export const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";
export const sampleTrace = { ...createTrace(), tracestate: "vendor=value" };
export const common = {
  requestId: "0e984725-c51c-4bf4-9960-e1c80e27aba0",
  sessionId: `session-${"0123456789".repeat(4)}`,
  timeoutMs: 25_000,
  trace: sampleTrace,
};
