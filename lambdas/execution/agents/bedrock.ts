/** An agent that asks a model of Amazon Bedrock, by ConverseStream. */
import {
  BedrockRuntimeClient,
  type BedrockRuntimeClientConfig,
  ConverseStreamCommand,
  type ConverseStreamOutput,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { maxResultBytes } from "../../../contracts/limits.ts";
import { createIdleLimit } from "../../shared/async/deadline.ts";
import { createTraceHeaders } from "../../shared/telemetry/telemetry.ts";
import type { Agent, AgentTask } from "./agent.ts";
import type { CreateAgent } from "./create-agent.ts";
import { createPartialReporter } from "./partial-reporter.ts";

const defaultIdleTimeoutMs = 120_000;
const connectionTimeoutMs = 3000;
/** Only what fails before the stream begins is repeated: a throttled call, a connection that breaks. */
const maxAttempts = 3;

/**
 * Credentials, and the region where none is given, are found as the SDK finds them. `idleTimeoutMs` bounds the wait for
 * the stream and for each next part of it; the task's own signal bounds the whole. What AWS refuses is thrown, and so a
 * failure of which the host tells no word. A task without words is `plan_error`.
 */
export function createBedrockAgent({
  modelId,
  region,
  system,
  maxTokens,
  guardrail,
  idleTimeoutMs = defaultIdleTimeoutMs,
  now = Date.now,
  clientConfig = {},
}: {
  modelId: string;
  region?: string | undefined;
  system?: string | undefined;
  maxTokens?: number | undefined;
  guardrail?: { id: string; version: string } | undefined;
  idleTimeoutMs?: number;
  now?: () => number;
  /** Goes before what is set here, such as an endpoint of one's own. */
  clientConfig?: BedrockRuntimeClientConfig;
}): Agent {
  // The SDK's own choice, HTTP/2, has no time-out for the connection, and a connection of its own for every request anyway.
  const requestHandler = new NodeHttpHandler({ connectionTimeout: connectionTimeoutMs });
  const client = new BedrockRuntimeClient({ ...(region && { region }), maxAttempts, requestHandler, ...clientConfig });
  const settings = {
    modelId,
    ...(system !== undefined && { system: [{ text: system }] }),
    ...(maxTokens !== undefined && { inferenceConfig: { maxTokens } }),
    ...(guardrail && { guardrailConfig: { guardrailIdentifier: guardrail.id, guardrailVersion: guardrail.version } }),
  };
  return async function* bedrock(task, { signal, trace, log }) {
    const messages = toConverseMessages(task);
    if (messages === undefined) {
      yield { type: "failure", reason: "plan_error" };
      return;
    }
    const limit = createIdleLimit({ idleMs: idleTimeoutMs, signal });
    try {
      const command = new ConverseStreamCommand({ ...settings, messages });
      // Behind the signature, of which it is no part: whoever stands between may put a trace of its own there.
      command.middlewareStack.add(addHeaders(createTraceHeaders(trace)), { step: "deserialize", priority: "low" });
      const { stream = [] } = await client.send(command, { abortSignal: limit.signal });
      let reply: ConverseReply = { text: "" };
      const report = createPartialReporter({ now });
      for await (const event of stream) {
        limit.refresh();
        reply = addStreamEvent(reply, event);
        // The host says that it is too large; there is no need to read on.
        if (reply.text.length > maxResultBytes) break;
        yield* report(reply.text);
      }
      const { text, stopReason, usage } = reply;
      if (isAnswer(reply)) yield { type: "answer", text, ...(usage && { usage: { ...usage } }) };
      else {
        log.warn("model_without_answer", { reason: "execution_failed", status: stopReason });
        yield { type: "failure", reason: "execution_failed" };
      }
    } finally {
      // Closes the connection where the stream was not read to its end.
      limit.end();
    }
  };
}

/** The agent module of an asset. */
export const createAgent: CreateAgent = ({ config, region }) => {
  if (typeof config === "string" || config.type !== "bedrock") throw new Error("This module is the agent bedrock.");
  return createBedrockAgent({ region, ...config });
};

function addHeaders(headers: Record<string, string>) {
  return <Request extends { request: unknown }, Response>(next: (args: Request) => Promise<Response>) =>
    (args: Request) => {
      Object.assign(Object(Object(args.request).headers), headers);
      return next(args);
    };
}

type ConverseReply = { text: string; stopReason?: string | undefined; usage?: object | undefined };

function addStreamEvent(
  reply: ConverseReply,
  { contentBlockDelta, messageStop, metadata }: ConverseStreamOutput,
): ConverseReply {
  if (contentBlockDelta !== undefined) return { ...reply, text: reply.text + (contentBlockDelta.delta?.text ?? "") };
  if (messageStop !== undefined) return { ...reply, stopReason: messageStop.stopReason };
  return metadata === undefined ? reply : { ...reply, usage: metadata.usage };
}

/** What a guardrail says instead is an answer, and so is one that was cut at `maxTokens`. A filtered one has holes. */
function isAnswer({ text, stopReason }: ConverseReply): boolean {
  if (text.length > maxResultBytes) return true;
  return text !== "" && stopReason !== undefined && stopReason !== "content_filtered";
}

export type ConverseMessage = { role: "user" | "assistant"; content: { text: string }[] };

/** Stands where the thread begins with the assistant, as it does below a report that nobody had asked for. */
const opening = "(The conversation begins with a message of yours.)";

/** Undefined where nothing is asked in words. */
export function toConverseMessages({ text, history = [] }: AgentTask): ConverseMessage[] | undefined {
  if (text.trim() === "") return undefined;
  const messages: ConverseMessage[] = [];
  for (const said of [...history, { role: "user" as const, text }]) {
    if (said.text.trim() === "") continue;
    if (messages.length === 0 && said.role === "assistant")
      messages.push({ role: "user", content: [{ text: opening }] });
    const last = messages.at(-1);
    if (last?.role === said.role) last.content.push({ text: said.text });
    else messages.push({ role: said.role, content: [{ text: said.text }] });
  }
  return messages;
}
