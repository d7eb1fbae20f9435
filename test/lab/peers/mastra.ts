/** Mastra: its server with Hono, and its client. */
import { getRequestListener } from "@hono/node-server";
import { A2AAgent } from "@mastra/core/a2a";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { type HonoBindings, type HonoVariables, MastraServer } from "@mastra/hono";
import { InMemoryTaskStore } from "@mastra/server/a2a/store";
import { Hono } from "hono";
import * as z from "zod";
import { type Heard, joinTexts, listen, type Peer } from "./peer.ts";
import { reply, toolResults } from "./script.ts";

/** The members of a prompt that the script reads. A system message has a text as its content. */
type Content = { type: string; text?: string; data?: unknown; output?: { value: unknown } };
type Prompt = readonly { role: string; content: string | readonly Content[] }[];

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** The script's reply to a prompt, as chunks of a stream. */
async function next(prompt: Prompt) {
  const contents = prompt.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const text = contents.find(({ type }) => type === "text")?.text ?? "";
  const files = contents.flatMap(({ type, data }) => (type === "file" ? String(data) : []));
  const result = contents.findLast(({ type }) => type === "tool-result")?.output?.value;
  const said = await reply({ text, files, toolResult: result as string | undefined });
  if (said.call === undefined) return { words: said.words, finishReason: "stop" };
  const { name: toolName, args } = said.call;
  const call = { type: "tool-call", toolCallId: "call-1", toolName, input: JSON.stringify(args) };
  return { words: [], call, finishReason: "tool-calls" };
}

const model = {
  specificationVersion: "v2",
  provider: "script",
  modelId: "scripted",
  supportedUrls: { "*/*": [/.*/] },
  async doGenerate({ prompt }: { prompt: Prompt }) {
    const { words, call, finishReason } = await next(prompt);
    return {
      content: [call ?? { type: "text", text: words.join("") }],
      finishReason,
      usage,
      warnings: [],
    };
  },
  async doStream({ prompt }: { prompt: Prompt }) {
    const { words, call, finishReason } = await next(prompt);
    const deltas = words.map((delta) => ({ type: "text-delta", id: "1", delta }));
    const parts =
      call === undefined
        ? [{ type: "text-start", id: "1" }, ...deltas, { type: "text-end", id: "1" }]
        : [call];
    const finish = { type: "finish", finishReason, usage };
    return {
      stream: ReadableStream.from<object>([
        { type: "stream-start", warnings: [] },
        ...parts,
        finish,
      ]),
    };
  },
};

const tools = Object.fromEntries(
  (["look_up", "delete_file"] as const).map((id) => [
    id,
    createTool({
      id,
      description: id,
      inputSchema: z.object({ about: z.string() }),
      requireApproval: id === "delete_file",
      execute: async () => toolResults[id],
    }),
  ]),
);

export const mastra: Peer = {
  name: "Mastra",
  async startAgent() {
    const agent = new Agent({
      id: "scripted",
      name: "scripted",
      instructions: "Follow the script.",
      model: model as never,
      tools,
    });
    const server = await listen(async () => {
      const app = new Hono<{ Bindings: HonoBindings; Variables: HonoVariables }>();
      const mastra = new Mastra({
        agents: { scripted: agent },
        storage: new InMemoryStore(),
        logger: false,
      });
      await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init();
      return getRequestListener(app.fetch);
    });
    return {
      cardUrl: `${server.url}/api/.well-known/scripted/agent-card.json`,
      close: server.close,
    };
  },
  cancelOutcome: "canceled",
  async converse(hostUrl) {
    const agent = new A2AAgent({ url: hostUrl });
    let openRun: string | undefined;

    async function say(text: string): Promise<Heard> {
      const stream = await (openRun === undefined
        ? agent.stream(text)
        : agent.resumeStream(text, { runId: openRun }));
      for await (const _ of stream.fullStream);
      openRun = (await stream.suspendPayload) === undefined ? undefined : stream.runId;
      const task = (await stream.task) ?? (await stream.suspendPayload)?.task;
      const parts = task?.artifacts?.flatMap((artifact) => artifact.parts) ?? [];
      return {
        text: await stream.text,
        files: parts.flatMap((part) =>
          part.kind === "file" && "bytes" in part.file ? part.file.bytes : [],
        ),
        state: task?.status.state,
        said: joinTexts(task?.status.message),
      };
    }

    return { say };
  },
  lacks: {
    "client: tokens": "it does not pass on progress",
    "client: cancel": "it has no method for it",
  },
};
