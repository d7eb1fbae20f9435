import { describe, expect, it } from "@jest/globals";
import { showAgentErrors } from "../../bin/local/show-agent-errors.ts";
import type { Agent, AgentContext } from "../../lambdas/execution/agents/agent.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { newTrace } from "../../lambdas/shared/trace.ts";

const throwing: Agent = async function* () {
  yield { type: "progress", text: "so far" };
  throw new Error("no API key");
};

async function runWith(signal: AbortSignal) {
  const shown: string[] = [];
  const context: AgentContext = {
    requestId: "r",
    taskId: "t",
    signal,
    readAttachment: async () => new Uint8Array(),
    trace: newTrace(),
    log: silentLog,
  };
  const agent = showAgentErrors({ agent: throwing, show: (text) => shown.push(text) });
  const updates: unknown[] = [];
  const ran = (async () => {
    for await (const update of agent({ channel: "C1", text: "hello" }, context)) updates.push(update);
  })();
  await expect(ran).rejects.toThrow("no API key");
  return { shown, updates };
}

describe("whoever writes an agent", () => {
  it("reads what it threw, with the stack, and the host still sees the error", async () => {
    const { shown, updates } = await runWith(new AbortController().signal);
    expect(updates).toEqual([{ type: "progress", text: "so far" }]);
    expect(shown[0]).toMatch(/no API key[\s\S]*show-agent-errors.test.ts/);
  });

  it("reads nothing of an error that came because the agent was told to stop", async () => {
    expect((await runWith(AbortSignal.abort())).shown).toEqual([]);
  });
});
