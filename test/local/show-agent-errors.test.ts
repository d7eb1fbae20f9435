import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../lambdas/execution/agents/agent.ts";
import { showAgentErrors } from "../../lib/local/execution-zone.ts";
import { agentContext, agentTask } from "../execution/agents/agent-context.ts";

const throwing: Agent = async function* () {
  yield { type: "progress", text: "so far" };
  throw new Error("no API key");
};

async function runWith(signal: AbortSignal) {
  const shown: string[] = [];
  const context = agentContext(signal);
  const agent = showAgentErrors({ agent: throwing, show: (text) => shown.push(text) });
  const updates: unknown[] = [];
  const ran = (async () => {
    for await (const update of agent(agentTask({ channel: "C1", text: "hello" }), context)) updates.push(update);
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
