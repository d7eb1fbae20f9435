/** The data plane of Bedrock AgentCore in front of the runtime's server: it passes on what AWS passes on and hides what AWS hides. */
import type { RunningRuntime } from "../agent-runtime.ts";
import type { AgentRuntime } from "../template/wiring.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";

const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";
const passedOn = ["content-type", "accept", sessionHeader, "traceparent", "tracestate", "baggage"];

/** An endpoint that no template has gets an ARN of its own all the same: it is refused, and the refusal names it. */
export function endpointArnOf({ runtimes }: { runtimes: readonly AgentRuntime[] }) {
  return ({ runtimeArn, qualifier }: { runtimeArn: string; qualifier: string }): string =>
    runtimes.find(({ arn }) => arn === runtimeArn)?.endpoints[qualifier] ??
    `${runtimeArn}/runtime-endpoint/${qualifier}`;
}

export function agentCoreBackend({
  runtimes,
}: {
  /** By ARN. */
  runtimes: ReadonlyMap<string, Pick<RunningRuntime, "urlOf" | "stop">>;
}): Backend {
  return async ({ call: { action, input }, received: { request, body } }) => {
    const runtime = runtimes.get(String(input.runtimeArn));
    if (runtime === undefined)
      return awsFailure({ service: "bedrock-agentcore", name: "ResourceNotFoundException", status: 404 });
    const sessionId = request.headers.get(sessionHeader) ?? "";
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{32,99}$/.test(sessionId))
      return awsFailure({ service: "bedrock-agentcore", name: "ValidationException", status: 400 });
    if (action.endsWith("StopRuntimeSession")) {
      if (runtime.stop(sessionId)) return Response.json({ runtimeSessionId: sessionId, statusCode: 200 });
      return awsFailure({ service: "bedrock-agentcore", name: "ResourceNotFoundException", status: 404 });
    }
    const headers = passedOn.flatMap((name): [string, string][] => {
      const value = request.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    const url = `${await runtime.urlOf(sessionId)}/invocations`;
    const response = await fetch(url, { method: "POST", headers, body, signal: request.signal });
    if (response.status < 400) return response;
    await response.body?.cancel();
    const message = `Received error (${response.status}) from runtime.`;
    return awsFailure({ service: "bedrock-agentcore", name: "RuntimeClientError", message, status: 424 });
  };
}
