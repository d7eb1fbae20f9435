/** The graphs of LangGraph that its server serves. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { END, interrupt, MessagesZodState, START, StateGraph } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import * as z from "zod";
import { decide, join, toolResults } from "./script.ts";

type Options = { signal?: AbortSignal };
type RunManager = { handleLLMNewToken(token: string): Promise<void> };

class ScriptedModel extends BaseChatModel {
  constructor() {
    super({});
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools() {
    return this as never;
  }

  override async _generate(messages: BaseMessage[], { signal }: Options): Promise<ChatResult> {
    const { words, call } = await decide(readTurn(messages, signal));
    const text = await join(words);
    const message = new AIMessage({
      content: text,
      tool_calls: call ? [{ ...call, id: "call-1" }] : [],
    });
    return { generations: [{ text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    { signal }: Options,
    runManager?: RunManager,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { words, call } = await decide(readTurn(messages, signal));
    for await (const text of words) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
      await runManager?.handleLLMNewToken(text);
    }
    if (call === undefined) return;
    const { name, args } = call;
    const piece = { name, args: JSON.stringify(args), id: "call-1", index: 0 };
    const message = new AIMessageChunk({
      content: "",
      tool_call_chunks: [{ ...piece, type: "tool_call_chunk" }],
    });
    yield new ChatGenerationChunk({ text: "", message });
  }
}

function readTurn(messages: readonly BaseMessage[], signal: AbortSignal | undefined) {
  const lastUser = messages.findLastIndex(({ type }) => type === "human");
  const results = messages.slice(lastUser).filter((message) => message instanceof ToolMessage);
  return {
    userTexts: messages.filter(({ type }) => type === "human").map(({ text }) => text),
    toolResult: results.at(-1)?.text,
    signal,
  };
}

const model = new ScriptedModel();

const tools = (["look_up", "delete_file"] as const).map((name) =>
  tool(() => toolResults[name], {
    name,
    description: name,
    schema: z.object({ about: z.string() }),
  }),
);

/** LangChain's agent, whose middleware asks before a file is deleted. */
export const approving = createAgent({
  model,
  tools,
  middleware: [humanInTheLoopMiddleware({ interruptOn: { delete_file: true } })],
});

type State = { messages: BaseMessage[] };

function readCall({ messages }: State) {
  return messages.findLast((message) => message instanceof AIMessage)?.tool_calls?.[0];
}

function runTool(state: State) {
  const { id: tool_call_id = "", name } = readCall(state) ?? {};
  const isAllowed =
    name !== "delete_file" ||
    interrupt({ question: "Delete the file?", options: ["yes", "no"] }) === "yes";
  const content = isAllowed ? toolResults[name as keyof typeof toolResults] : "The file is kept.";
  return { messages: [new ToolMessage({ content, tool_call_id })] };
}

/** A graph of one's own, whose code asks. */
export const asking = new StateGraph(MessagesZodState)
  .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("tool", runTool)
  .addEdge(START, "agent")
  .addConditionalEdges("agent", (state) => (readCall(state) === undefined ? END : "tool"))
  .addEdge("tool", "agent")
  .compile();
