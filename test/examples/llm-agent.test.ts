/** The example with a language model and tools, in our host, against an endpoint on loopback that is as strict as the real one. */
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { agent } from "../../examples/llm-agent/agent.ts";
import {
  type CompletionRequest,
  type Round,
  startChatCompletions,
} from "../doubles/chat-completions.ts";
import { agentContext, agentTask } from "../execution/agents/agent-context.ts";
import { startModelServer } from "../execution/agents/model-server.ts";
import { createTestHost, hello } from "../execution/test-host.ts";

const apiKey = "hunter2-key";
const savedEnv = process.env;
const closing: (() => Promise<void>)[] = [];
beforeEach(() => {
  process.env = { ...savedEnv, MODEL_NAME: "a-model", MODEL_API_KEY: apiKey };
});
afterEach(async () => {
  process.env = savedEnv;
  for (const close of closing.splice(0)) await close();
});

async function startModel(
  rounds: Round[] | ((request: CompletionRequest) => Round | Promise<Round>),
) {
  let round = 0;
  const next =
    typeof rounds === "function" ? rounds : () => rounds[round++] ?? { text: ["too many rounds"] };
  const model = await startChatCompletions({ apiKey, rounds: next });
  closing.push(model.close);
  process.env.MODEL_BASE_URL = model.baseUrl;
  return model;
}

/** Every update of the agent, of a task with an earlier message. */
async function updatesOf(signal = new AbortController().signal): Promise<TaskUpdate[]> {
  const history = [{ role: "assistant" as const, text: "Good morning" }];
  const updates: TaskUpdate[] = [];
  for await (const update of runAgent(
    agent,
    agentTask({ ...hello, history }),
    agentContext(signal),
  ))
    updates.push(update);
  return updates;
}

const lookUp = (id: string, topic: string) => ({
  id,
  name: "look_up",
  args: JSON.stringify({ topic }),
});

describe("the LLM agent", () => {
  it("asks the model with the thread and the tools, and passes its answer on while it is written", async () => {
    const model = await startModel([{ text: ["Hel", "lo"] }]);
    expect(await updatesOf()).toEqual([
      { type: "progress", partial: "Hel" },
      { type: "progress", partial: "Hello" },
      { type: "answer", text: "Hello", usage: { input_tokens: 10, output_tokens: 2 } },
    ]);
    expect(model.accepted).toMatchObject([
      {
        model: "a-model",
        tools: [{ function: { name: "current_time" } }, { function: { name: "look_up" } }],
        messages: [
          { role: "system" },
          { role: "assistant", content: "Good morning" },
          { role: "user", content: "hello" },
        ],
      },
    ]);
  });

  it("runs the tools that the model calls, also two in one round, and returns each result", async () => {
    const model = await startModel([
      {
        text: ["Let me see."],
        calls: [lookUp("call-1", "vacation"), lookUp("call-2", "expenses")],
      },
      { text: ["30 days."] },
    ]);
    const updates = await updatesOf();
    expect(updates).toContainEqual({ type: "progress", text: "Using look_up" });
    expect(updates.at(-1)).toEqual({
      type: "answer",
      text: "30 days.",
      usage: { input_tokens: 20, output_tokens: 4 },
    });
    expect(model.accepted.at(-1)?.messages.slice(-3)).toMatchObject([
      {
        role: "assistant",
        content: "Let me see.",
        tool_calls: [{ id: "call-1" }, { id: "call-2" }],
      },
      { role: "tool", tool_call_id: "call-1", content: expect.stringContaining("30 days") },
      { role: "tool", tool_call_id: "call-2", content: expect.stringContaining("receipts") },
    ]);
  });

  it("returns the time when the model asks for it", async () => {
    const args = JSON.stringify({ time_zone: "Asia/Tokyo" });
    const model = await startModel([
      { calls: [{ id: "call-1", name: "current_time", args }] },
      { text: ["Late."] },
    ]);
    await updatesOf();
    expect(model.accepted.at(-1)?.messages.at(-1)?.content).toMatch(
      / \d{4} at \d\d:\d\d:\d\d GMT\+9/,
    );
  });

  it.each([
    ["an unknown tool", { name: "rm", args: "{}" }, "no such tool"],
    ["the name of a prototype member", { name: "constructor", args: "{}" }, "no such tool"],
    ["arguments that are not JSON", { name: "look_up", args: '{"topic":' }, "Error: "],
    ["arguments that are null", { name: "look_up", args: "null" }, "no such topic"],
    [
      "an unknown time zone",
      { name: "current_time", args: '{"time_zone":"Mars"}' },
      "Error: Invalid time zone",
    ],
  ])("reports a wrong tool call to the model: %s", async (_what, call, message) => {
    const model = await startModel([{ calls: [{ id: "call-1", ...call }] }, { text: ["Sorry."] }]);
    expect((await updatesOf()).at(-1)).toMatchObject({ type: "answer", text: "Sorry." });
    expect(model.accepted.at(-1)?.messages.at(-1)?.content).toContain(message);
  });

  it("allows tool calls in four rounds, and requires an answer in the fifth", async () => {
    const model = await startModel(({ tool_choice, messages }) =>
      tool_choice === "none"
        ? { text: ["Done."] }
        : { calls: [lookUp(`call-${messages.length}`, "vacation")] },
    );
    expect((await updatesOf()).at(-1)).toMatchObject({ type: "answer", text: "Done." });
    expect(model.accepted.map(({ tool_choice }) => tool_choice)).toEqual([
      "auto",
      "auto",
      "auto",
      "auto",
      "none",
    ]);
  });
});

describe("the LLM agent in the host", () => {
  /** How the task fails. Nobody may hear what the endpoint says, or the key. */
  async function failure() {
    const { call, lines } = createTestHost({ agent });
    const { error } = await call("execute_task", hello);
    expect(JSON.stringify(error) + lines.join("")).not.toContain("hunter2");
    return error?.data.reason;
  }

  it("gives up on a model that calls tools when it must answer", async () => {
    let round = 0;
    const model = await startModelServer((response) => {
      round += 1;
      const calls = [
        { index: 0, id: `call-${round}`, function: { name: "look_up", arguments: "{}" } },
      ];
      const choices = [{ delta: { tool_calls: calls }, finish_reason: "tool_calls" }];
      response.end(`data: ${JSON.stringify({ choices })}\n\ndata: [DONE]\n\n`);
    });
    closing.push(model.close);
    process.env.MODEL_BASE_URL = model.baseUrl;
    expect(await failure()).toBe("budget_exceeded");
    expect(model.requests).toHaveLength(5);
  });

  it("fails with a wrong key", async () => {
    await startModel([]);
    process.env.MODEL_API_KEY = "hunter2-another";
    expect(await failure()).toBe("execution_failed");
  });

  it("fails if the stream breaks off, so that half an answer never counts as a whole one", async () => {
    await startModel([{ text: ["half of hunter2"], breaksOff: true }]);
    expect(await failure()).toBe("execution_failed");
  });

  it("fails if the endpoint reports an error in its stream", async () => {
    const model = await startModelServer((response) =>
      response.end('data: {"error":{"message":"hunter2"}}\n\n'),
    );
    closing.push(model.close);
    process.env.MODEL_BASE_URL = model.baseUrl;
    expect(await failure()).toBe("execution_failed");
  });

  it("ends its call of the model when the task is canceled", async () => {
    const pending = Promise.withResolvers<void>();
    const closeSignal = Promise.withResolvers<void>();
    const model = await startModelServer((response) => {
      void once(response, "close").then(() => closeSignal.resolve());
      response.write(": the model thinks\n\n");
      pending.resolve();
    });
    closing.push(model.close);
    process.env.MODEL_BASE_URL = model.baseUrl;
    const { call } = createTestHost({ agent, syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    await pending.promise;
    await call("cancel_task", { task_id: result?.task_id });
    await closeSignal.promise;
  });
});
