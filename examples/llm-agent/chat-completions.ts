/** A client of chat completions with streaming and tools (https://platform.openai.com/docs/api-reference/chat-streaming). */
import type { TaskUpdate } from "@sekisho/execution/agent";

export type ToolCall = {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
};
export type Message =
  | { role: "system" | "user"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: readonly ToolCall[] }
  | { role: "tool"; tool_call_id: string; content: string };
type Completion = {
  text: string;
  toolCalls: ToolCall[];
  usage: { input_tokens: number; output_tokens: number };
};

/** The time of one call. The time of the whole task is limited by its signal. */
const callTimeoutMs = 120_000;
const maxStreamBytes = 8 * 1024 * 1024;

/**
 * Yields the text as far as it is written, and returns all of it. Throws if the endpoint fails. What it says then is not passed on,
 * because it may repeat the request.
 */
export async function* streamCompletion(request: {
  messages: readonly Message[];
  tools: readonly object[];
  toolChoice: "auto" | "none";
  signal: AbortSignal;
}): AsyncGenerator<TaskUpdate, Completion> {
  const { messages, tools, toolChoice, signal } = request;
  const {
    MODEL_BASE_URL = "http://127.0.0.1:11434/v1",
    MODEL_NAME = "llama3.2",
    MODEL_API_KEY,
  } = process.env;
  const response = await fetch(`${MODEL_BASE_URL}/chat/completions`, {
    method: "POST",
    redirect: "error",
    headers: {
      "content-type": "application/json",
      ...(MODEL_API_KEY !== undefined && { authorization: `Bearer ${MODEL_API_KEY}` }),
    },
    body: JSON.stringify({
      ...{ model: MODEL_NAME, messages, tools, tool_choice: toolChoice },
      ...{ stream: true, stream_options: { include_usage: true } },
    }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]),
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new Error(`The model's endpoint answered with the status ${response.status}.`);
  }
  const completion: Completion = {
    text: "",
    toolCalls: [],
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  let isFinished = false;
  for await (const data of readEvents(response.body)) {
    if (data === "[DONE]") break;
    const { error, choices, usage }: Chunk = JSON.parse(data);
    if (error) throw new Error("The model's endpoint reported an error.");
    if (usage)
      completion.usage = {
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
      };
    const [{ delta = {}, finish_reason: finishReason } = {}] = choices ?? [];
    isFinished ||= typeof finishReason === "string";
    for (const piece of delta.tool_calls ?? []) addToolCall(completion.toolCalls, piece);
    if (!delta.content) continue;
    completion.text += delta.content;
    yield { type: "progress", partial: completion.text };
  }
  // Half an answer would look like a whole one.
  if (!isFinished) throw new Error("The model's stream broke off.");
  return completion;
}

type ToolCallPiece = {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
};
type Chunk = {
  error?: unknown;
  choices?: {
    delta?: { content?: string | null; tool_calls?: ToolCallPiece[] };
    finish_reason?: string | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
};

/** The first piece of a call has its id and its name. Its arguments come bit by bit. */
function addToolCall(
  calls: ToolCall[],
  { index = calls.length, id = "", function: piece = {} }: ToolCallPiece,
): void {
  const { name = "", arguments: text = "" } = piece;
  const call = calls[index];
  if (call === undefined) calls.push({ id, type: "function", function: { name, arguments: text } });
  else call.function.arguments += text;
}

/** The data of each server-sent event. Chat completions have one line of data per event. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let [lastLine, bytes] = ["", 0];
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxStreamBytes) throw new Error("The model's stream is too long.");
    const lines = (lastLine + decoder.decode(chunk, { stream: true })).split("\n");
    lastLine = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) yield line.slice("data:".length).trim();
  }
}
