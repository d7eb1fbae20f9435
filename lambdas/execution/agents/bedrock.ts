/** An agent that calls a model of Amazon Bedrock with ConverseStream. */
import {
  BedrockRuntimeClient,
  type BedrockRuntimeClientConfig,
  ConverseStreamCommand,
  type ConverseStreamOutput,
} from "@aws-sdk/client-bedrock-runtime";
import { createIdleLimit } from "@sekisho/runtime/async/deadline.ts";
import { createTraceHeaders } from "@sekisho/runtime/telemetry/telemetry.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import type { Agent } from "./agent.ts";
import { toConverseMessages } from "./converse-messages.ts";
import type { CreateAgent } from "./create-agent.ts";
import { type AnswerEnd, createModelAnswers } from "./model-answer.ts";

const defaultIdleTimeoutMs = 120_000;
const connectionTimeoutMs = 3000;
/** The SDK repeats only a call that fails before its stream begins, such as a throttled one. */
const maxAttempts = 3;

/**
 * The SDK finds credentials, and the region if none is given. `idleTimeoutMs` limits the wait for each part of the stream; the
 * task's signal limits the whole call. An error of AWS is thrown, so that its message stays out of Slack. A task without text
 * fails with `plan_error`.
 */
export function createBedrockAgent(options: {
  modelId: string;
  region?: string | undefined;
  system?: string | undefined;
  maxTokens?: number | undefined;
  guardrail?: { id: string; version: string } | undefined;
  idleTimeoutMs?: number;
  now?: () => number;
  /** Overrides what is set here, such as the endpoint. */
  clientConfig?: BedrockRuntimeClientConfig;
}): Agent {
  const {
    modelId,
    region,
    system,
    maxTokens,
    guardrail,
    idleTimeoutMs = defaultIdleTimeoutMs,
  } = options;
  const { now = Date.now, clientConfig = {} } = options;
  // The SDK's default handler, HTTP/2, has no connection time-out and opens a connection for each request anyway.
  const requestHandler = new NodeHttpHandler({ connectionTimeout: connectionTimeoutMs });
  const client = new BedrockRuntimeClient({
    ...(region && { region }),
    customUserAgent: sdkUserAgent,
    maxAttempts,
    requestHandler,
    ...clientConfig,
  });
  const settings = {
    modelId,
    ...(system !== undefined && { system: [{ text: system }] }),
    ...(maxTokens !== undefined && { inferenceConfig: { maxTokens } }),
    ...(guardrail && {
      guardrailConfig: { guardrailIdentifier: guardrail.id, guardrailVersion: guardrail.version },
    }),
  };
  const beginAnswer = createModelAnswers({ now });
  return async function* bedrock(task, { signal, trace, log }) {
    const messages = toConverseMessages(task);
    if (messages === undefined) {
      yield { type: "failure", reason: "plan_error" };
      return;
    }
    const limit = createIdleLimit({ idleMs: idleTimeoutMs, signal });
    try {
      const command = new ConverseStreamCommand({ ...settings, messages });
      // Added after signing, because a proxy may replace the trace headers.
      command.middlewareStack.add(addHeaders(createTraceHeaders(trace)), {
        step: "deserialize",
        priority: "low",
      });
      const { stream = [] } = await client.send(command, { abortSignal: limit.signal });
      const answer = beginAnswer({ task, log });
      let end: AnswerEnd = {};
      for await (const event of stream) {
        limit.refresh();
        end = readEnd(end, event);
        yield* answer.add(event.contentBlockDelta?.delta?.text ?? "");
        if (answer.isTooLarge()) break;
      }
      yield answer.end(end);
    } finally {
      // Closes the connection if the stream was not read to its end.
      limit.end();
    }
  };
}

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, region }) => {
  if (typeof config === "string" || config.type !== "bedrock")
    throw new Error(
      'This bundle has the agent "bedrock", but execution.agent names another one. Bundle again.',
    );
  return createBedrockAgent({ region, ...config });
};

function addHeaders(headers: Record<string, string>) {
  return <Request extends { request: unknown }, Response>(
    next: (args: Request) => Promise<Response>,
  ) =>
    (args: Request) => {
      Object.assign(Object(Object(args.request).headers), headers);
      return next(args);
    };
}

function readEnd(end: AnswerEnd, { messageStop, metadata }: ConverseStreamOutput): AnswerEnd {
  if (messageStop !== undefined) return { ...end, stopReason: messageStop.stopReason };
  return metadata?.usage === undefined ? end : { ...end, usage: { ...metadata.usage } };
}
