/** Messages to a task that asks: which of them count, which are known again, and which come too late. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { questionKey } from "../../../contracts/a2a/extension.ts";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { memoryStore } from "../test-host.ts";
import { type A2aHost, startA2aHost, userMessage } from "./a2a-host.ts";

type Sent = { task: A2aTask };

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const asking: Agent = async function* ({ answers }) {
  const options = [{ id: "a", label: "The first" }];
  if (answers.length === 0) yield { type: "question", prompt: "Which?", options };
  else yield { type: "answer", text: JSON.stringify(answers.map(({ text, option_id }) => option_id ?? text)) };
};

async function asked(): Promise<{ host: A2aHost; to: { taskId: string; contextId: string | undefined } }> {
  const host = await startA2aHost({ agent: asking });
  toClose.push(host.close);
  const { task } = await host.result<Sent>("SendMessage", { message: userMessage("Fly me") });
  return { host, to: { taskId: task.id, contextId: task.contextId } };
}

const tooLate = { code: -32004, data: [{ reason: "UNSUPPORTED_OPERATION" }, { reason: "INVALID_STATE" }] };

describe("a new message with the words of the last answer", () => {
  it("is refused where the task is completed", async () => {
    const { host, to } = await asked();
    await host.result("SendMessage", { message: userMessage("Yes", to) });
    const { error } = await host.ask("SendMessage", { message: userMessage("Yes", to) });
    expect(error).toMatchObject(tooLate);
  });

  it("is refused where the task is canceled", async () => {
    const { host, to } = await asked();
    await host.result("CancelTask", { id: to.taskId });
    expect((await host.ask("SendMessage", { message: userMessage("Yes", to) })).error).toMatchObject(tooLate);
  });

  it("is refused where another of many at once was the first", async () => {
    const { host, to } = await asked();
    const all = await Promise.all(
      new Array(10).fill(0).map(() => host.ask("SendMessage", { message: userMessage("Yes", to) })),
    );
    expect(all.filter(({ result }) => result !== undefined)).toHaveLength(1);
    for (const { error } of all) if (error !== undefined) expect(error).toMatchObject(tooLate);
  });
});

it("an answer of the zone contract is in the history like a message", async () => {
  const { host, to } = await asked();
  await host.call("answer_task", { task_id: to.taskId, option_id: "a" });
  const { history } = await host.result("GetTask", { id: to.taskId });
  expect(history?.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
    ["ROLE_USER", "Fly me"],
    ["ROLE_AGENT", "Which?"],
    ["ROLE_USER", "a"],
  ]);
});

describe("a message to a task that asks", () => {
  it.each([
    ["an option that was not offered", { metadata: { [questionKey]: { option_id: "b" } } }, "message.metadata"],
    ["nothing at all", { parts: [{ text: "" }] }, "message.parts"],
  ])("is refused where it says %s, and the question stays", async (_what, more, path) => {
    const { host, to } = await asked();
    const { error } = await host.ask("SendMessage", { message: userMessage("x", { ...to, ...more }) });
    expect(error?.code).toBe(-32602);
    expect(JSON.stringify(error?.data)).toContain(`"${path}"`);
    const { status } = await host.result("GetTask", { id: to.taskId });
    expect(status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it("may say what is no option, or send a file", async () => {
    const { host, to } = await asked();
    const parts = [{ raw: "AAAA", filename: "answer.bin" }];
    const { task } = await host.result<Sent>("SendMessage", { message: userMessage("", { ...to, parts }) });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const other = await asked();
    const free = await other.host.result<Sent>("SendMessage", { message: userMessage("neither", other.to) });
    expect(free.task.artifacts?.[0]?.parts[0]?.text).toBe('["neither"]');
  });
});

describe("a task that waits for a person", () => {
  const hourMs = 3600_000;

  async function patient() {
    const clock = { nowMs: Date.now() };
    const now = () => clock.nowMs;
    const host = await startA2aHost({ agent: asking, now, store: memoryStore(now), maxTaskMs: 60_000 });
    toClose.push(host.close);
    const { task } = await host.result<Sent>("SendMessage", { message: userMessage("Fly me") });
    const stateNow = async () => (await host.result("GetTask", { id: task.id })).status.state;
    return { clock, host, to: { taskId: task.id, contextId: task.contextId }, stateNow };
  }

  it("is listed as such and takes its answer after hours, of which none is its own time", async () => {
    const { clock, host, to } = await patient();
    clock.nowMs += 20 * hourMs;
    const { tasks } = await host.result<{ tasks: A2aTask[] }>("ListTasks", { status: "TASK_STATE_INPUT_REQUIRED" });
    expect(tasks.map(({ id }) => id)).toEqual([to.taskId]);
    const { task } = await host.result<Sent>("SendMessage", { message: userMessage("The first", to) });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("fails where nobody answers for a day", async () => {
    const { clock, stateNow } = await patient();
    clock.nowMs += 24 * hourMs - 1;
    expect(await stateNow()).toBe("TASK_STATE_INPUT_REQUIRED");
    clock.nowMs += 1;
    expect(await stateNow()).toBe("TASK_STATE_FAILED");
  });
});
