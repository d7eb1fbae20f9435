/** Google's Agent Development Kit for JavaScript. */
import type { TaskStatus } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import {
  A2AAgentExecutor,
  BaseLlm,
  type Event,
  FunctionTool,
  getA2AAgentCard,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  RemoteA2AAgent,
  StreamingMode,
  setLogLevel,
} from "@google/adk";
import express from "express";
import * as z from "zod";
import { type Heard, joinTexts, listen, type Peer } from "./peer.ts";
import { reply, toolResults } from "./script.ts";

setLogLevel(LogLevel.ERROR);

/** Thinks before it answers. */
class ScriptedModel extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }

  override async *generateContentAsync(
    { contents }: LlmRequest,
    stream?: boolean,
  ): AsyncGenerator<LlmResponse, void> {
    const parts = contents.flatMap((content) => content.parts ?? []);
    const text = parts.find((part) => part.text !== undefined)?.text ?? "";
    const files = parts.flatMap(({ fileData }) => fileData?.fileUri ?? []);
    // Before the approval the result is an error as well, but then the model is not called.
    const results = parts.flatMap(({ functionResponse }) =>
      Object.values(functionResponse?.response ?? {}),
    );
    const said = await reply({ text, files, toolResult: results.at(-1) as string | undefined });
    if (said.call !== undefined) {
      yield { content: { role: "model", parts: [{ functionCall: said.call }] } };
      return;
    }
    const thought = { text: "Let me think.", thought: true };
    const words = said.words.map((word) => ({ text: word }));
    if (stream) {
      for (const part of [thought, ...words])
        yield { content: { role: "model", parts: [part] }, partial: true };
    }
    const file =
      text === "file" ? [{ inlineData: { data: "aGVsbG8=", mimeType: "text/plain" } }] : [];
    yield { content: { role: "model", parts: [thought, { text: said.words.join("") }, ...file] } };
  }

  override connect(): never {
    throw new Error("not scripted");
  }
}

const tools = (["look_up", "delete_file"] as const).map(
  (name) =>
    new FunctionTool({
      name,
      description: name,
      parameters: z.object({ about: z.string() }),
      requireConfirmation: name === "delete_file",
      execute: () => ({ result: toolResults[name] }),
    }),
);

export const adk: Peer = {
  name: "ADK",
  async startAgent() {
    const agent = new LlmAgent({
      name: "scripted",
      description: "Follows a script.",
      model: new ScriptedModel(),
      tools,
    });
    const runConfig = { streamingMode: StreamingMode.SSE, allowRemoteToolConfirmation: true };
    const server = await listen(async (url) => {
      const card = await getA2AAgentCard(agent, [{ url: `${url}/jsonrpc`, transport: "JSONRPC" }]);
      const executor = new A2AAgentExecutor({
        runner: new InMemoryRunner({ agent, appName: "lab" }),
        runConfig,
      });
      const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
      const app = express();
      app.use(
        "/.well-known/agent-card.json",
        agentCardHandler({ agentCardProvider: requestHandler }),
      );
      app.use(
        "/jsonrpc",
        jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }),
      );
      return app;
    });
    return { cardUrl: `${server.url}/.well-known/agent-card.json`, close: server.close };
  },
  cancelOutcome: "internal",
  async converse(hostUrl) {
    const agent = new RemoteA2AAgent({ name: "remote", agentCard: hostUrl });
    const runner = new InMemoryRunner({ agent, appName: "lab" });
    const session = await runner.sessionService.createSession({ appName: "lab", userId: "U1" });
    async function say(text: string): Promise<Heard> {
      const events: Event[] = [];
      const newMessage = { role: "user", parts: [{ text }] };
      for await (const event of runner.runAsync({
        userId: "U1",
        sessionId: session.id,
        newMessage,
      }))
        events.push(event);
      return toHeard(events);
    }

    return { say };
  },
  lacks: {
    "client: reply": "it replies to calls of functions only; a text begins another task",
    "client: cancel": "it has no method for it",
  },
};

/** Partial events are shown until the next one comes. */
function toHeard(events: readonly Event[]): Heard {
  const parts = events
    .filter(({ partial }) => !partial)
    .flatMap(({ content }) => content?.parts ?? []);
  const progress = events
    .filter(({ partial }) => partial)
    .flatMap(({ content }) => content?.parts ?? []);
  const { status } = (events.at(-1)?.customMetadata?.["a2a:response"] ?? {}) as {
    status?: TaskStatus;
  };
  return {
    text: parts.flatMap(({ text }) => text ?? []).join(""),
    progress: progress.flatMap(({ text }) => text ?? []),
    files: parts.flatMap(({ inlineData }) => inlineData?.data ?? []),
    // It passes on the completed status without its state, after the answer.
    state: status?.state,
    said: joinTexts(status?.message),
  };
}
