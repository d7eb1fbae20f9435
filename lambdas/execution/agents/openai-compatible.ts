/** An agent that calls a chat completions endpoint with streaming, such as OpenAI, Ollama, vLLM or LiteLLM. */

import { isSecureUrl } from "@sekisho/contracts/loopback.ts";
import { createIdleLimit } from "@sekisho/runtime/async/deadline.ts";
import { createTraceHeaders } from "@sekisho/runtime/telemetry/telemetry.ts";
import * as z from "zod/mini";
import type { Agent, AgentTask } from "./agent.ts";
import { type ChatMessage, listEarlierMessages, readUserText } from "./chat-messages.ts";
import type { CreateAgent } from "./create-agent.ts";
import { type AnswerEnd, createModelAnswers } from "./model-answer.ts";
import { reportTool } from "./reports.ts";
import { type ChunkSource, parseServerSentEvents } from "./server-sent-events.ts";

const defaultIdleTimeoutMs = 120_000;
/** The statuses with which an endpoint rejects an unknown field of the request, before it generates anything. */
const unknownFieldStatuses = [400, 422];

/**
 * `baseUrl` ends with `/v1`; http is allowed on loopback only. The key is read for every task. `idleTimeoutMs` limits the wait
 * for each chunk; the task's signal limits the whole call. If the status may mean that the endpoint does not know
 * `stream_options`, the request is sent once more without it. A stream that breaks off is a failure. Error texts of the
 * endpoint are not passed on, because they may repeat the request. Reasoning is left out, in fields of its own, in parts and in tags.
 */
export function createOpenAiCompatibleAgent(options: {
  baseUrl: string;
  model: string;
  apiKey?: () => Promise<string>;
  system?: string;
  idleTimeoutMs?: number;
  now?: () => number;
}): Agent {
  const {
    baseUrl,
    model,
    apiKey,
    system,
    idleTimeoutMs = defaultIdleTimeoutMs,
    now = Date.now,
  } = options;
  const url = resolveEndpoint(baseUrl);
  let requestsUsage = true;
  const beginAnswer = createModelAnswers({ now });
  return async function* openAiCompatible(task, { signal, trace, log }) {
    const limit = createIdleLimit({ idleMs: idleTimeoutMs, signal });
    try {
      const headers = {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...createTraceHeaders(trace),
        ...(apiKey !== undefined && { authorization: `Bearer ${await apiKey()}` }),
      };
      const request = { model, stream: true, messages: toChatMessages({ task, system }) };
      const send = (body: object) =>
        fetch(url, {
          ...{ method: "POST", redirect: "error", headers, body: JSON.stringify(body) },
          signal: limit.signal,
        });
      let response = await send(
        requestsUsage ? { ...request, stream_options: { include_usage: true } } : request,
      );
      if (requestsUsage && unknownFieldStatuses.includes(response.status)) {
        await response.body?.cancel();
        response = await send(request);
        requestsUsage = !response.ok;
      }
      if (!isEventStream(response) || response.body === null) {
        log.warn("model_refused", { reason: "execution_failed", status: response.status });
        await response.body?.cancel();
        yield { type: "failure", reason: "execution_failed" };
        return;
      }
      const answer = beginAnswer({ task, log });
      let end: AnswerEnd = {};
      for await (const { text, toolNames = [], ...others } of readCompletion({
        chunks: response.body,
        onChunk: limit.refresh,
      })) {
        end = { ...end, ...others };
        yield* toolNames.flatMap(reportTool);
        yield* answer.add(text);
        if (answer.isTooLarge()) break;
      }
      yield answer.end(end);
    } catch (error) {
      const code = toConnectionError(error);
      if (code === undefined) throw error;
      log.warn("model_unreachable", { reason: "execution_failed", cause_kind: code });
      yield { type: "failure", reason: "execution_failed" };
    } finally {
      limit.end();
    }
  };
}

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, readSecret }) => {
  if (typeof config === "string" || config.type !== "openai-compatible")
    throw new Error(
      'This bundle has the agent "openai-compatible", but execution.agent names another one. Bundle again.',
    );
  const { baseUrl, model, system, apiKey } = config;
  return createOpenAiCompatibleAgent({
    baseUrl,
    model,
    ...(system !== undefined && { system }),
    ...(apiKey !== undefined && { apiKey: () => readSecret(apiKey) }),
  });
};

function isEventStream({ ok, headers }: Response): boolean {
  return ok && /^text\/event-stream *(;|$)/i.test(headers.get("content-type") ?? "");
}

/** The code in the cause of a TypeError of `fetch`, such as ECONNREFUSED, ENOTFOUND or a TLS error. */
function toConnectionError(error: unknown): string | undefined {
  const { code } = Object(Object(error).cause) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function resolveEndpoint(baseUrl: string): string {
  const url = new URL(`${baseUrl.replace(/\/+$/, "")}/chat/completions`);
  if (isSecureUrl(url)) return url.href;
  throw new Error("The model's baseUrl must be https (http only on loopback).");
}

const chunkSchema = z.object({
  choices: z.optional(
    z.array(
      z.object({
        delta: z.optional(
          z.object({ content: z.optional(z.unknown()), tool_calls: z.optional(z.unknown()) }),
        ),
        finish_reason: z.optional(z.string()),
      }),
    ),
  ),
  usage: z.optional(z.object({})),
});

/** Endpoints send null for an absent member. The schema for that would enlarge the bundle. */
function dropNull(_key: string, value: unknown): unknown {
  return value ?? undefined;
}

/**
 * The text of a delta: a string, or a list of parts as Mistral and gateways to other models send it. Their other parts are reasoning and
 * references. Throws for anything else, because an answer that lacks a piece of its text would mislead.
 */
function readText(content: unknown): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  if (!Array.isArray(content)) throw new Error("the content of a chunk is no text");
  return content.map(readPart).join("");
}

const textTypes: readonly unknown[] = ["text", "output_text", undefined];

function readPart(part: unknown): string {
  if (typeof part === "string") return part;
  const { type, text } = Object(part) as { type?: unknown; text?: unknown };
  if (!textTypes.includes(type)) return "";
  if (typeof text !== "string") throw new Error("a part of a chunk is no text");
  return text;
}

/** Far more than the largest answer, with the JSON around each of its tokens. */
const maxStreamBytes = 32 * 1024 * 1024;

/**
 * Reads the stream of a chat completion (https://platform.openai.com/docs/api-reference/chat-streaming). Throws for an error
 * event and for an invalid chunk. There is no reason to stop if the stream ends before the answer does.
 */
async function* readCompletion(
  source: ChunkSource,
): AsyncGenerator<{ text: string; toolNames?: string[] } & AnswerEnd> {
  let isFinished = false;
  for await (const { event, data } of parseServerSentEvents({
    ...source,
    maxBytes: maxStreamBytes,
  })) {
    if (data.trim() === "[DONE]") {
      if (!isFinished) yield { text: "", stopReason: "stop" };
      return;
    }
    const { choices, usage } = chunkSchema.parse(JSON.parse(data, dropNull));
    const json: { error?: unknown; usage?: Record<string, unknown> } = JSON.parse(data);
    if (event === "error" || isError(json.error)) throw new Error("the endpoint reported an error");
    const [choice] = choices ?? [];
    // Some endpoints write an empty reason until the last chunk.
    const { finish_reason: stopReason = "" } = choice ?? {};
    isFinished ||= stopReason !== "";
    yield {
      text: readText(choice?.delta?.content),
      toolNames: readToolNames(choice?.delta?.tool_calls),
      ...(stopReason !== "" && { stopReason }),
      ...(usage && { usage: json.usage }),
    };
  }
}

/** A gateway may call tools itself, and stream the calls. The first chunk of a call has its name, and further ones its arguments. */
function readToolNames(toolCalls: unknown): string[] {
  if (!Array.isArray(toolCalls)) return [];
  return toolCalls.flatMap((call: unknown) => {
    const { name } = Object(Object(call).function) as { name?: unknown };
    return typeof name === "string" ? [name] : [];
  });
}

/** Some endpoints send the member in every chunk, and leave it empty as long as there is no error. */
function isError(error: unknown): boolean {
  const isEmptyObject =
    typeof error === "object" && error !== null && Object.keys(error).length === 0;
  return Boolean(error) && !isEmptyObject;
}

function toChatMessages({
  task,
  system,
}: {
  task: AgentTask;
  system?: string | undefined;
}): ChatMessage[] {
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    ...listEarlierMessages(task),
    { role: "user", content: readUserText(task) },
  ];
}
