/** The scripted model for frameworks that take a model of Vercel's AI SDK. */
import { MockLanguageModelV3 } from "ai/test";
import { decide, join, type Turn } from "./script.ts";

type CallOptions = Parameters<MockLanguageModelV3["doStream"]>[0];
type StreamResult = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;

const inputTokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens, outputTokens: { total: 1, text: 1, reasoning: 0 } };

export function createLanguageModel(): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    async doGenerate(options) {
      const { words, call } = await decide(readTurn(options));
      const content = call ? [toCall(call)] : [{ type: "text" as const, text: await join(words) }];
      return { content, finishReason: toFinishReason(call), usage, warnings: [] };
    },
    async doStream(options) {
      return { stream: ReadableStream.from(listParts(options)) as ReadableStream<StreamPart> };
    },
  });
}

async function* listParts(options: CallOptions): AsyncGenerator<StreamPart> {
  const { words, call } = await decide(readTurn(options));
  yield { type: "stream-start", warnings: [] };
  if (call !== undefined) yield toCall(call);
  else {
    yield { type: "text-start", id: "1" };
    for await (const delta of words) yield { type: "text-delta", id: "1", delta };
    yield { type: "text-end", id: "1" };
  }
  yield { type: "finish", finishReason: toFinishReason(call), usage };
}

function toCall({ name: toolName, args }: { name: string; args: object }) {
  const input = JSON.stringify(args);
  return { type: "tool-call" as const, toolCallId: "call-1", toolName, input };
}

function toFinishReason(call: object | undefined) {
  const unified = call === undefined ? ("stop" as const) : ("tool-calls" as const);
  return { unified, raw: undefined };
}

function readTurn({ prompt, abortSignal }: CallOptions): Turn {
  const lastUser = prompt.findLastIndex(({ role }) => role === "user");
  const results = prompt.slice(lastUser).flatMap(({ role, content }) => {
    if (role !== "tool") return [];
    return content.flatMap((part) => (part.type === "tool-result" ? [part.output] : []));
  });
  const output = results.at(-1);
  return {
    userTexts: prompt.flatMap(({ role, content }) =>
      role === "user"
        ? [content.map((part) => (part.type === "text" ? part.text : "")).join("")]
        : [],
    ),
    toolResult: output && ("value" in output ? String(output.value) : "denied"),
    signal: abortSignal,
  };
}
