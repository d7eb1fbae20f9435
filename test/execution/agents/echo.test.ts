/** The echo agent: what it says, and the words that make it slow, fail or report. */
import { describe, expect, it } from "@jest/globals";
import type { TaskUpdate } from "../../../lambdas/execution/agents/agent.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { agentContext, agentTask } from "./agent-context.ts";

async function updatesOf(text: string, extra = {}) {
  const slept: number[] = [];
  const agent = createEchoAgent({ sleep: async ({ ms }) => void slept.push(ms) });
  const updates: TaskUpdate[] = [];
  for await (const update of agent(agentTask({ channel: "C1", text, ...extra }), agentContext())) updates.push(update);
  return { updates, slept };
}

describe("the echo agent", () => {
  it("says what it received, from whom, where, and the short request id", async () => {
    const { updates, slept } = await updatesOf("関所?", { user_id: "U1", thread_ts: "1.2" });
    expect(slept).toEqual([]);
    expect(updates).toEqual([
      { type: "answer", text: expect.stringMatching(/U1.*C1.*1\.2[\s\S]*関所\?[\s\S]*3f0f6b0e/) },
    ]);
  });

  it.each([
    ["slow 5s", 5000],
    ["please be slow 250 ms", 250],
    ["SLOW 2S", 2000],
    ["slow 999999999s", 3600_000],
  ])("%s waits %i milliseconds", async (text, ms) => {
    const { updates, slept } = await updatesOf(text);
    expect(slept).toEqual([ms]);
    expect(updates.map(({ type }) => type)).toEqual(["answer"]);
  });

  it("reports five times on progress, and shares the time of slow among them", async () => {
    const { updates, slept } = await updatesOf("progress, slow 10s");
    expect(slept).toEqual([2000, 2000, 2000, 2000, 2000]);
    const percents = updates.map((update) => (update.type === "progress" ? update.percent : update.type));
    expect(percents).toEqual([20, 40, 60, 80, 100, "answer"]);
  });

  it("is at it for six seconds on progress alone, which outlasts the wait of a call", async () => {
    expect((await updatesOf("progress")).slept).toEqual([1200, 1200, 1200, 1200, 1200]);
  });

  it("takes shorter steps where it is told to", async () => {
    const slept: number[] = [];
    const agent = createEchoAgent({ stepMs: 1, sleep: async ({ ms }) => void slept.push(ms) });
    for await (const _update of agent(agentTask({ channel: "C1", text: "progress" }), agentContext()));
    expect(slept).toEqual([1, 1, 1, 1, 1]);
  });

  it("fails on fail, after the time of slow", async () => {
    const { updates, slept } = await updatesOf("slow 3s fail");
    expect(slept).toEqual([3000]);
    expect(updates).toEqual([{ type: "failure", reason: "execution_failed" }]);
  });

  it("asks back on ask me, and tells what it heard", async () => {
    const { updates } = await updatesOf("ask me, and be slow 5s");
    expect(updates).toMatchObject([
      { type: "question", prompt: "Shall I go on?", options: [{ id: "yes" }, { id: "no" }] },
    ]);
    const answered = await updatesOf("ask me", { answers: [{ prompt: "Shall I go on?", text: "", option_id: "yes" }] });
    expect(answered.updates).toMatchObject([{ type: "answer", text: expect.stringContaining("Shall I go on? yes") }]);
  });

  it.each(["slowly 5s", "failure", "slow", "slow s"])("takes %j for a text like any other", async (text) => {
    const { updates, slept } = await updatesOf(text);
    expect([slept, updates[0]?.type]).toEqual([[], "answer"]);
  });

  it("asks a second time on ask twice, and tells both answers", async () => {
    const said = (prompt: string) => ({ prompt, text: "", option_id: "yes" });
    const first = await updatesOf("ask twice");
    const second = await updatesOf("ask twice", { answers: [said("Shall I go on?")] });
    const last = await updatesOf("ask me twice", { answers: [said("Shall I go on?"), said("Are you sure?")] });
    expect([...first.updates, ...second.updates, ...last.updates]).toMatchObject([
      { type: "question", prompt: "Shall I go on?" },
      { type: "question", prompt: "Are you sure?" },
      { type: "answer", text: expect.stringMatching(/Shall I go on\? yes\nAre you sure\? yes/) },
    ]);
  });

  it("stops waiting when its signal aborts", async () => {
    const abort = new AbortController();
    const updates = createEchoAgent()(agentTask({ channel: "C1", text: "slow 60s" }), agentContext(abort.signal));
    const next = updates[Symbol.asyncIterator]().next();
    abort.abort();
    await expect(next).rejects.toThrow();
  });
});
