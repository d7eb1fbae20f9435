/** The agent: works for as long as its story says, and heeds its signal. */
import { setTimeout as wait } from "node:timers/promises";
import type { Agent } from "../../lambdas/execution/agents/agent.ts";
import { operate } from "./operate.ts";
import { currentProcess } from "./processes.ts";
import { worldMs } from "./virtual-time.ts";
import type { AgentRun, World } from "./world.ts";

const times = { usualMs: 1, giveUpMs: 1, landMs: 1 };
const failed = () => new Error("the agent cannot be started");
const failures = { refused: failed, unknown: failed };

export function createAgent({ world }: { world: World }): Agent {
  return async function* agent({ text, correlation_id: requestId = "" }, { signal }) {
    const at = { world, note: () => requestId.slice(0, 8), times, failures };
    const run: AgentRun = { requestId, fromMs: worldMs(), untilMs: Number.POSITIVE_INFINITY, end: "working" };
    const over = (end: AgentRun["end"]) => {
      if (run.end === "working") Object.assign(run, { end, untilMs: worldMs() });
    };
    currentProcess()?.onDeath.push(() => over("died"));
    signal.addEventListener("abort", () => over("stopped"));
    await operate({ ...at, point: "agent.start", effect: () => void world.agentRuns.push(run) });
    await wait(world.story.agentMs, undefined, { signal });
    await operate({ ...at, point: "agent.end", effect: () => over("ended") });
    yield { type: "answer", text: agentsAnswer({ text }) };
  };
}

export function agentsAnswer({ text }: { text: string }): string {
  return `This is what I found about: ${text.length} ${text.split(" ").toReversed().join(" ")}`;
}
