/** Bedrock: a model that streams one sentence, and the data plane of AgentCore in front of the runtime's servers. */
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { metadata, stop, text } from "../../../execution/agents/bedrock-server.ts";
import type { RunningRuntime } from "../agent-runtime.ts";
import type { AgentRuntime } from "../template/wiring.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

export const modelSays = "A sekisho was a checkpoint on a highway.";

export const modelsBackend: Backend = async () => {
  const usage = { inputTokens: 5, outputTokens: 9, totalTokens: 14 };
  const body = Buffer.concat([text(modelSays), stop("end_turn"), metadata(usage)]);
  return new Response(new Uint8Array(body), {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
  });
};

const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";
const mostPayloadBytes = 100_000_000;
const passedOn = ["content-type", "accept", sessionHeader, "traceparent", "tracestate", "baggage"];

/** Returns the ARN of an endpoint. An unknown endpoint gets one too, so that its refusal can name it. */
export function endpointArnOf({ runtimes }: { runtimes: readonly AgentRuntime[] }) {
  return ({ runtimeArn, qualifier }: { runtimeArn: string; qualifier: string }): string =>
    runtimes.find(({ arn }) => arn === runtimeArn)?.endpoints[qualifier] ??
    `${runtimeArn}/runtime-endpoint/${qualifier}`;
}

const statusOf = {
  ValidationException: 400,
  ServiceQuotaExceededException: 402,
  ResourceNotFoundException: 404,
  RetryableConflictException: 409,
  RuntimeClientError: 424,
  ThrottlingException: 429,
  InternalServerException: 500,
} as const;

/** True if AgentCore itself fails. May change at any time. */
export type AgentCoreState = { isDown: boolean };

type Answer = { response: Response; isNewSession?: boolean };

/** Passes calls on as AWS does, hides the server's errors as AWS does, and counts calls under the endpoint that was called. */
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
  return async (post) => {
    const { action, input } = post.call;
    const running = runtimes.get(String(input.runtimeArn));
    if (running === undefined) return refuse("ResourceNotFoundException").response;
    const beganMs = performance.now();
    const { response, isNewSession } = await answer(running, post, state);
    if (!action.endsWith("InvokeAgentRuntime")) return response;
    const { status } = response;
    const isThrottled = createThrottling.includes(status);
    const { account, region, name, arn } = running.runtime;
    const values = {
      Invocations: 1,
      SystemErrors: status >= 500 ? 1 : 0,
      UserErrors: status >= 400 && status < 500 && !isThrottled ? 1 : 0,
      Throttles: isThrottled ? 1 : 0,
      SessionCount: isNewSession ? 1 : 0,
      Latency: performance.now() - beganMs,
    };
    const dimensions = {
      Operation: "InvokeAgentRuntime",
      Name: `${name}::${String(input.qualifier)}`,
      Resource: arn,
    };
    for (const [metric, value] of Object.entries(values))
      metrics.record({
        account,
        region,
        namespace: "AWS/Bedrock-AgentCore",
        name: metric,
        dimensions,
        value,
      });
    return response;
  };
}

/** Rates and quotas alike: https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/observability-runtime-metrics.html */
const createThrottling: readonly number[] = [402, 429];

async function answer(
  runtime: RunningRuntime,
  { call: { action }, received: { request, body } }: Parameters<Backend>[0],
  state: AgentCoreState,
): Promise<Answer> {
  if (state.isDown) return refuse("InternalServerException");
  if (body.byteLength > mostPayloadBytes) return refuse("ValidationException");
  const sessionId = request.headers.get(sessionHeader) ?? "";
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{32,99}$/.test(sessionId)) return refuse("ValidationException");
  if (action.endsWith("StopRuntimeSession")) {
    if (!runtime.stop(sessionId)) return refuse("ResourceNotFoundException");
    return { response: Response.json({ runtimeSessionId: sessionId, statusCode: 200 }) };
  }
  const isCard = action.endsWith("GetAgentCard");
  const { isA2a, allowedHeaders } = runtime.runtime;
  if (isCard && !isA2a) return refuse("ValidationException");
  const headers = [...passedOn, ...allowedHeaders].flatMap((name): [string, string][] => {
    const value = request.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  const entered = await runtime.enter(sessionId);
  if ("refusal" in entered) return refuse(entered.refusal);
  const { url, isNew: isNewSession, done } = entered;
  try {
    const { signal } = request;
    const response = isCard
      ? await fetch(`${url}${agentCardPath}`, { headers, signal })
      : await fetch(`${url}${isA2a ? "/" : "/invocations"}`, {
          method: "POST",
          headers,
          body,
          signal,
        });
    if (response.status < 400) return { response, isNewSession };
    await response.body?.cancel();
    if (isA2a) return { response: a2aFailure(), isNewSession };
    const message = `Received error (${response.status}) from runtime.`;
    return { ...refuse("RuntimeClientError", message), isNewSession };
  } finally {
    done();
  }
}

/** In A2A mode the platform writes its errors as JSON-RPC. */
function a2aFailure(): Response {
  const error = { code: -32055, message: "Runtime client error" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 424 });
}

function refuse(name: keyof typeof statusOf, message = ""): Answer {
  return {
    response: awsFailure({ service: "bedrock-agentcore", name, message, status: statusOf[name] }),
  };
}
