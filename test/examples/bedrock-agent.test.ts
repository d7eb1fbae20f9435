/** The example with a model of Bedrock, in our host, against an endpoint on loopback that speaks the event stream of AWS. */
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { type Agent, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { type ConverseRequest, type ConverseRound, startConverse } from "../doubles/converse.ts";
import { agentContext, agentTask } from "../execution/agents/agent-context.ts";
import { eventStream, startBedrockServer, text } from "../execution/agents/bedrock-server.ts";
import { createTestHost, hello } from "../execution/test-host.ts";

const modelId = "maker.model-v1:0";
const accessKeyId = "AKIDEXAMPLE";
const savedEnv = process.env;
const closing: (() => Promise<void>)[] = [];
beforeEach(() => {
  process.env = {
    ...{
      PATH: savedEnv.PATH,
      HOME: "/nowhere",
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_REGION: "eu-central-1",
    },
    ...{
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: "hunter2-secret",
      BEDROCK_MODEL_ID: modelId,
    },
  };
});
afterEach(async () => {
  process.env = savedEnv;
  for (const close of closing.splice(0)) await close();
});

/** The SDK reads its endpoint once per client, so each test loads the example anew. */
async function agentAt({
  endpoint,
  close,
}: {
  endpoint: string;
  close(): Promise<void>;
}): Promise<Agent> {
  closing.push(close);
  process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME = endpoint;
  jest.resetModules();
  return (await import("../../examples/bedrock-agent/agent.ts")).agent;
}

async function startModel(rounds: ConverseRound[] | ((request: ConverseRequest) => ConverseRound)) {
  let round = 0;
  const next =
    typeof rounds === "function" ? rounds : () => rounds[round++] ?? { texts: ["too many rounds"] };
  const model = await startConverse({ modelId, accessKeyId, rounds: next });
  return { model, agent: await agentAt(model) };
}

async function updatesOf(agent: Agent, task: Partial<typeof hello> & { history?: object[] } = {}) {
  const updates: TaskUpdate[] = [];
  for await (const update of runAgent(
    agent,
    agentTask({ ...hello, ...task } as never),
    agentContext(),
  ))
    updates.push(update);
  return updates;
}

const time = (id: string, zone: string) => ({
  id,
  name: "current_time",
  input: JSON.stringify({ time_zone: zone }),
});

describe("the Bedrock agent", () => {
  it("asks the model, and passes its answer on while it is written", async () => {
    const { model, agent } = await startModel([{ texts: ["Hel", "lo"] }]);
    expect(await updatesOf(agent)).toEqual([
      { type: "progress", partial: "Hel" },
      { type: "progress", partial: "Hello" },
      { type: "answer", text: "Hello", usage: { input_tokens: 10, output_tokens: 2 } },
    ]);
    expect(model.accepted).toMatchObject([
      {
        messages: [{ role: "user", content: [{ text: "hello" }] }],
        toolConfig: { tools: [{ toolSpec: { name: "current_time" } }] },
      },
    ]);
  });

  it("sends the thread in turns, merges consecutive messages, and begins with the user", async () => {
    const { model, agent } = await startModel([{ texts: ["Hi"] }]);
    const says = (role: string, words: string) => ({ role, text: words });
    const history = [
      says("assistant", "The build failed."),
      says("user", "Why?"),
      says("assistant", " "),
      says("user", "!"),
    ];
    await updatesOf(agent, { history });
    expect(model.accepted[0]?.messages).toEqual([
      { role: "user", content: [{ text: "Why?" }, { text: "!" }, { text: "hello" }] },
    ]);
  });

  it("runs the tool for each call, and returns each result", async () => {
    const calls = [time("use-1", "Asia/Tokyo"), time("use-2", "Mars")];
    const { model, agent } = await startModel([
      { texts: ["Let me see."], calls },
      { texts: ["Late."] },
    ]);
    const answer = { type: "answer", text: "Late.", usage: { input_tokens: 20, output_tokens: 4 } };
    expect((await updatesOf(agent)).at(-1)).toEqual(answer);
    expect(model.accepted.at(-1)?.messages.slice(1)).toMatchObject([
      {
        role: "assistant",
        content: [{ text: "Let me see." }, { toolUse: { input: { time_zone: "Asia/Tokyo" } } }, {}],
      },
      {
        role: "user",
        content: [
          {
            toolResult: {
              toolUseId: "use-1",
              content: [{ text: expect.stringMatching(/GMT\+9$/) }],
            },
          },
          {
            toolResult: {
              toolUseId: "use-2",
              status: "error",
              content: [{ text: "There is no such time zone." }],
            },
          },
        ],
      },
    ]);
  });

  it("asks the model at most five times", async () => {
    const { model, agent } = await startModel(({ messages }) => ({
      calls: [time(`use-${messages.length}`, "UTC")],
    }));
    expect((await updatesOf(agent)).at(-1)).toEqual({ type: "failure", reason: "budget_exceeded" });
    expect(model.accepted).toHaveLength(5);
  });
});

describe("the Bedrock agent in the host", () => {
  /** How the task fails. Nobody may hear what the service says, or the secret. */
  async function failureOf(agent: Agent) {
    const { call, lines } = createTestHost({ agent });
    const { error } = await call("execute_task", hello);
    expect(JSON.stringify(error) + lines.join("")).not.toContain("hunter2");
    return error?.data.reason;
  }

  it.each<[string, ConverseRound]>([
    ["filters its answer", { texts: ["half of hunter2"], stopReason: "content_filtered" }],
    ["returns no text", {}],
    ["stops in the middle", { texts: ["half of hunter2"], stopReason: null }],
    [
      "writes tool input that is not JSON",
      { calls: [{ id: "use-1", name: "current_time", input: '{"time' }] },
    ],
  ])("fails if the model %s", async (_what, round) => {
    const { agent } = await startModel([round]);
    expect(await failureOf(agent)).toBe("execution_failed");
  });

  it("fails if AWS refuses its credentials, or if no model is named", async () => {
    process.env.AWS_ACCESS_KEY_ID = "AKIDANOTHER";
    const { agent } = await startModel([{ texts: ["Hi"] }]);
    expect(await failureOf(agent)).toBe("execution_failed");
    delete process.env.BEDROCK_MODEL_ID;
    expect(await failureOf(agent)).toBe("execution_failed");
  });

  it("ends its call of the model when the task is canceled", async () => {
    const pending = Promise.withResolvers<void>();
    const closing = Promise.withResolvers<void>();
    const server = await startBedrockServer((response) => {
      void once(response, "close").then(() => closing.resolve());
      eventStream(response).write(text("a"));
      pending.resolve();
    });
    const { call } = createTestHost({ agent: await agentAt(server), syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    await pending.promise;
    await call("cancel_task", { task_id: result?.task_id });
    await closing.promise;
  });
});
