/** An agent that asks a model behind any endpoint of chat completions with streaming: OpenAI, Ollama, vLLM, LiteLLM. */

import * as z from "zod/mini";
import { maxResultBytes } from "../../../contracts/limits.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { createIdleLimit } from "../../shared/async/deadline.ts";
import { createTraceHeaders } from "../../shared/telemetry/telemetry.ts";
import type { Agent, AgentTask } from "./agent.ts";
import type { CreateAgent } from "./create-agent.ts";
import { createPartialReporter } from "./partial-reporter.ts";

const defaultIdleTimeoutMs = 120_000;
/** What an endpoint answers that does not know a field of the request; nothing has been generated then. */
const unknownFieldStatuses = [400, 422];

/**
 * `baseUrl` goes up to and with `/v1`; http only on loopback. The key is read anew for every task. `idleTimeoutMs` bounds
 * the wait for the first byte and for each next one; the task's own signal bounds the whole. Nothing is repeated but a request
 * that may have been refused for the wish to hear of the tokens: an answer that breaks off is a failure, and no text of the
 * endpoint's errors is passed on.
 */
export function createOpenAiCompatibleAgent({
  baseUrl,
  model,
  apiKey,
  system,
  idleTimeoutMs = defaultIdleTimeoutMs,
  now = Date.now,
}: {
  baseUrl: string;
  model: string;
  apiKey?: () => Promise<string>;
  system?: string;
  idleTimeoutMs?: number;
  now?: () => number;
}): Agent {
  const url = resolveEndpoint(baseUrl);
  let tellsUsage = true;
  return async function* openAiCompatible(task, { signal, trace, log }) {
    const limit = createIdleLimit({ idleMs: idleTimeoutMs, signal });
    try {
      const headers = {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...createTraceHeaders(trace),
        ...(apiKey !== undefined && { authorization: `Bearer ${await apiKey()}` }),
      };
      const asked = { model, stream: true, messages: toChatMessages({ task, system }) };
      const ask = (body: object) =>
        fetch(url, {
          ...{ method: "POST", redirect: "error", headers, body: JSON.stringify(body) },
          signal: limit.signal,
        });
      let response = await ask(tellsUsage ? { ...asked, stream_options: { include_usage: true } } : asked);
      if (tellsUsage && unknownFieldStatuses.includes(response.status)) {
        await response.body?.cancel();
        response = await ask(asked);
        tellsUsage = !response.ok;
      }
      if (!isEventStream(response) || response.body === null) {
        log.warn("model_refused", { reason: "execution_failed", status: response.status });
        await response.body?.cancel();
        yield { type: "failure", reason: "execution_failed" };
        return;
      }
      let text = "";
      let usage: Record<string, unknown> | undefined;
      const report = createPartialReporter({ now });
      for await (const part of readCompletion({ chunks: response.body, onChunk: limit.refresh })) {
        text += part.text;
        usage = part.usage ?? usage;
        // The host says that it is too large; there is no need to read on.
        if (text.length > maxResultBytes) break;
        yield* report(text);
      }
      yield { type: "answer", text, ...(usage && { usage }) };
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

/** The agent module of an asset. */
export const createAgent: CreateAgent = ({ config, readSecret }) => {
  if (typeof config === "string" || config.type !== "openai-compatible")
    throw new Error("This module is the agent openai-compatible.");
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

/** What `fetch` hides behind its TypeError: ECONNREFUSED, ENOTFOUND, a TLS failure, a socket that was closed. */
function toConnectionError(error: unknown): string | undefined {
  const { code } = Object(Object(error).cause) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function resolveEndpoint(baseUrl: string): string {
  const url = new URL(`${baseUrl.replace(/\/+$/, "")}/chat/completions`);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname))) return url.href;
  throw new Error("The model's baseUrl must be https (http only on loopback).");
}

const chunkSchema = z.object({
  error: z.optional(z.unknown()),
  choices: z.nullish(
    z.array(
      z.object({
        delta: z.nullish(z.object({ content: z.nullish(z.string()) })),
        finish_reason: z.nullish(z.string()),
      }),
    ),
  ),
  usage: z.nullish(z.looseObject({})),
});

/** Far more than any answer with the frames around its tokens. */
const maxStreamBytes = 32 * 1024 * 1024;

/**
 * Reads the stream of a chat completion (https://platform.openai.com/docs/api-reference/chat-streaming). Throws for an error event, for
 * what is no chunk, and where the stream ends before the answer did.
 */
async function* readCompletion({
  chunks,
  onChunk,
}: {
  chunks: AsyncIterable<Uint8Array>;
  onChunk: () => void;
}): AsyncGenerator<{ text: string; usage?: Record<string, unknown> | undefined }> {
  let finished = false;
  for await (const { event, data } of parseServerSentEvents({
    chunks: observeChunks({ chunks, onChunk }),
    maxBytes: maxStreamBytes,
  })) {
    if (data === "[DONE]") return;
    const chunk = chunkSchema.parse(JSON.parse(data));
    if (event === "error" || chunk.error !== undefined) throw new Error("the endpoint reported an error");
    const [choice] = chunk.choices ?? [];
    finished ||= typeof choice?.finish_reason === "string";
    yield { text: choice?.delta?.content ?? "", usage: chunk.usage ?? undefined };
  }
  if (!finished) throw new Error("the stream broke off");
}

async function* observeChunks({ chunks, onChunk }: { chunks: AsyncIterable<Uint8Array>; onChunk: () => void }) {
  for await (const chunk of chunks) {
    onChunk();
    yield chunk;
  }
}

export type ChatMessage = { role: "system" | "user" | "assistant"; content: string };

function toChatMessages({ task, system }: { task: AgentTask; system?: string | undefined }): ChatMessage[] {
  const earlier = (task.history ?? []).map(({ role, text }) => ({ role, content: text }));
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    ...earlier,
    { role: "user", content: [task.text, ...listDataTexts(task)].filter((text) => text !== "").join("\n") },
  ];
}

/** Data parts, as JSON: a model reads nothing else of them. */
function listDataTexts({ parts }: AgentTask): string[] {
  return parts.flatMap(({ data }) => (data === undefined ? [] : [JSON.stringify(data)]));
}

export type ServerSentEvent = { event: string; data: string };

/**
 * Lines end in CRLF, LF or CR, wherever the chunks are cut. Other than in a browser, an event that the end of the stream
 * cuts short is given out too: some servers leave out the last empty line. Throws above `maxBytes`, and for bad UTF-8.
 */
export async function* parseServerSentEvents({
  chunks,
  maxBytes,
}: {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): AsyncGenerator<ServerSentEvent> {
  let event = "";
  let data: string[] = [];
  for await (const line of splitLines({ chunks, maxBytes })) {
    if (line === "") {
      if (data.length > 0) yield { event, data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") data.push(value);
    if (field === "event") event = value;
  }
  if (data.length > 0) yield { event, data: data.join("\n") };
}

async function* splitLines({
  chunks,
  maxBytes,
}: {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  let rest = "";
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error("more than was agreed to read");
    const text = rest + decoder.decode(chunk, { stream: true });
    // A CR at the very end may be half of a CRLF.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? "") + text.slice(end);
    yield* lines;
  }
  yield* (rest + decoder.decode()).split(/\r\n|\n|\r/);
}
