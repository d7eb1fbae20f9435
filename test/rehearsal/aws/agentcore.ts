/** The data plane of Bedrock AgentCore in front of the runtime's server: it passes on what AWS passes on and hides what AWS hides. */
import type { RunningRuntime } from "../agent-runtime.ts";
import type { AgentRuntime } from "../template/wiring.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";
const mostPayloadBytes = 100_000_000;
const passedOn = ["content-type", "accept", sessionHeader, "traceparent", "tracestate", "baggage"];

/** An endpoint that no template has gets an ARN of its own all the same: it is refused, and the refusal names it. */
export function endpointArnOf({ runtimes }: { runtimes: readonly AgentRuntime[] }) {
  return ({ runtimeArn, qualifier }: { runtimeArn: string; qualifier: string }): string =>
    runtimes.find(({ arn }) => arn === runtimeArn)?.endpoints[qualifier] ??
    `${runtimeArn}/runtime-endpoint/${qualifier}`;
}

const statusOf = {
  RetryableConflictException: 409,
  RuntimeClientError: 424,
  ServiceQuotaExceededException: 402,
  ThrottlingException: 429,
  InternalServerException: 500,
} as const;

/** What AgentCore itself is like for the moment. Can be changed at any time. */
export type AgentCoreState = { isDown: boolean };

/** Counts what is asked of it under the runtime's endpoint that was called. */
export function agentCoreBackend({
  runtimes,
  state = { isDown: false },
  metrics = createMetrics(),
}: {
  /** By ARN. */
  runtimes: ReadonlyMap<string, RunningRuntime>;
  state?: AgentCoreState;
  metrics?: Metrics;
}): Backend {
  const answer = createAnswer({ runtimes, state });
  return async (asked) => {
    const { action, input } = asked.call;
    const running = runtimes.get(String(input.runtimeArn));
    if (running === undefined) return refuse("ResourceNotFoundException", 404);
    const beganMs = performance.now();
    const { response, isNewSession } = await answer(asked);
    if (!action.endsWith("InvokeAgentRuntime")) return response;
    const { status } = response;
    const { account, region, name, arn } = running.runtime;
    const values = {
      Invocations: 1,
      SystemErrors: status >= 500 ? 1 : 0,
      UserErrors: status >= 400 && status < 500 && !throttled.includes(status) ? 1 : 0,
      Throttles: throttled.includes(status) ? 1 : 0,
      SessionCount: isNewSession ? 1 : 0,
      Latency: performance.now() - beganMs,
    };
    const dimensions = {
      Operation: "InvokeAgentRuntime",
      Name: `${name}::${String(input.qualifier)}`,
      Resource: arn,
    };
    for (const [metric, value] of Object.entries(values))
      metrics.record({ account, region, namespace: "AWS/Bedrock-AgentCore", name: metric, dimensions, value });
    return response;
  };
}

/** Rates and quotas alike. https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/observability-runtime-metrics.html */
const throttled: readonly number[] = [402, 429];

function createAnswer({
  runtimes,
  state,
}: {
  runtimes: ReadonlyMap<string, RunningRuntime>;
  state: AgentCoreState;
}): (asked: Parameters<Backend>[0]) => Promise<{ response: Response; isNewSession?: boolean }> {
  return async ({ call: { action, input }, received: { request, body } }) => {
    const runtime = runtimes.get(String(input.runtimeArn));
    if (runtime === undefined) return { response: refuse("ResourceNotFoundException", 404) };
    if (state.isDown) return { response: refuse("InternalServerException", statusOf.InternalServerException) };
    if (body.byteLength > mostPayloadBytes) return { response: refuse("ValidationException", 400) };
    const sessionId = request.headers.get(sessionHeader) ?? "";
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{32,99}$/.test(sessionId)) return { response: refuse("ValidationException", 400) };
    if (action.endsWith("StopRuntimeSession")) {
      if (!runtime.stop(sessionId)) return { response: refuse("ResourceNotFoundException", 404) };
      return { response: Response.json({ runtimeSessionId: sessionId, statusCode: 200 }) };
    }
    const headers = passedOn.flatMap((name): [string, string][] => {
      const value = request.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    const entered = await runtime.enter(sessionId);
    if ("refusal" in entered) return { response: refuse(entered.refusal, statusOf[entered.refusal]) };
    const { url, isNew: isNewSession, done } = entered;
    try {
      const init = { method: "POST", headers, body, signal: request.signal };
      const response = await fetch(`${url}/invocations`, init);
      if (response.status < 400) return { response, isNewSession };
      await response.body?.cancel();
      const message = `Received error (${response.status}) from runtime.`;
      return { response: refuse("RuntimeClientError", 424, message), isNewSession };
    } finally {
      done();
    }
  };
}

function refuse(name: string, status: number, message = ""): Response {
  return awsFailure({ service: "bedrock-agentcore", name, message, status });
}
