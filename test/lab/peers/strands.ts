/** Strands Agents for TypeScript. */
import { Agent, type Message, Model, type ModelStreamEvent, tool } from "@strands-agents/sdk";
import { A2AAgent, type A2AEventData } from "@strands-agents/sdk/a2a";
import { A2AExpressServer } from "@strands-agents/sdk/a2a/express";
import * as z from "zod";
import { type Heard, joinTexts, type Peer } from "./peer.ts";
import { reply, toolResults } from "./script.ts";

class ScriptedModel extends Model {
  override updateConfig(): void {}

  override getConfig() {
    return { modelId: "scripted" };
  }

  override async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const blocks = messages.flatMap(({ content }) => content);
    const texts = blocks.flatMap((block) => (block.type === "textBlock" ? block.text : []));
    const results = blocks.flatMap((block) =>
      block.type === "toolResultBlock" ? block.content : [],
    );
    const result = results
      .flatMap((content) => (content.type === "textBlock" ? content.text : []))
      .at(-1);
    // A file with an address becomes a text block.
    const said = await reply({ text: texts[0] ?? "", files: texts.slice(1), toolResult: result });
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (said.call === undefined) {
      yield { type: "modelContentBlockStartEvent" };
      for (const text of said.words)
        yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
    } else {
      const { name, args } = said.call;
      yield {
        type: "modelContentBlockStartEvent",
        start: { type: "toolUseStart", name, toolUseId: "call-1" },
      };
      const input = JSON.stringify(args);
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input } };
    }
    yield { type: "modelContentBlockStopEvent" };
    yield {
      type: "modelMessageStopEvent",
      stopReason: said.call === undefined ? "endTurn" : "toolUse",
    };
  }
}

const tools = (["look_up", "delete_file"] as const).map((name) =>
  tool({
    name,
    description: name,
    inputSchema: z.object({ about: z.string() }),
    callback: () => toolResults[name],
  }),
);

export const strands: Peer = {
  name: "Strands",
  async startAgent() {
    const stopping = new AbortController();
    const agentFactory = () => new Agent({ model: new ScriptedModel(), tools, printer: false });
    const server = new A2AExpressServer({
      name: "scripted",
      description: "Follows a script.",
      agentFactory,
      port: 0,
    });
    await server.serve({ signal: stopping.signal });
    return {
      cardUrl: `http://127.0.0.1:${server.port}/.well-known/agent-card.json`,
      close: async () => stopping.abort(),
    };
  },
  cancelOutcome: "invalid_state",
  async converse(hostUrl) {
    const agent = new A2AAgent({ url: hostUrl });

    async function say(text: string): Promise<Heard> {
      const updates: A2AEventData[] = [];
      let answer = "";
      for await (const event of agent.stream(text)) {
        if (event.type === "a2aStreamUpdateEvent") updates.push(event.event);
        else answer = event.result.toString();
      }
      const statuses = updates.flatMap((event) =>
        event.kind === "status-update" ? event.status : [],
      );
      const parts = updates.flatMap((event) =>
        event.kind === "artifact-update" ? event.artifact.parts : [],
      );
      const status = statuses.at(-1);
      return {
        // It writes an empty line for an artifact without a text.
        text: answer.trim(),
        progress: statuses.map(({ message }) => joinTexts(message)),
        files: parts.flatMap((part) =>
          part.kind === "file" && "bytes" in part.file ? part.file.bytes : [],
        ),
        state: status?.state,
        said: joinTexts(status?.message),
      };
    }

    return { say };
  },
  lacks: {
    "agent: failure":
      "the SDK reports it under another task's id, so a poll finds the task working for ever",
    "agent: question": "its A2A server has no state for a task that waits for a person",
    "client: reply": "every message begins another task",
    "client: cancel": "it has no method for it",
  },
};
