/** The agent: works for as long as its story says, and heeds its signal. */
import { setTimeout as wait } from "node:timers/promises";
import type { Agent } from "../../lambdas/execution/agents/agent.ts";
import { operate } from "./operate.ts";
import type { World } from "./world.ts";

const times = { usualMs: 1, giveUpMs: 1, landMs: 1 };
const failed = () => new Error("the agent cannot be started");
const failures = { refused: failed, unknown: failed };

export function createAgent({ world }: { world: World }): Agent {
  return async function* agent({ text }, { requestId, signal }) {
    await operate({
      world,
      point: "agent.start",
      note: requestId.slice(0, 8),
      times,
      failures,
      effect: () => void world.starts.set(requestId, (world.starts.get(requestId) ?? 0) + 1),
    });
    await wait(world.story.agentMs, undefined, { signal });
    await operate({ world, point: "agent.end", note: requestId.slice(0, 8), times, failures, effect: () => {} });
    yield { type: "answer", text: agentsAnswer({ text }) };
  };
}

export function agentsAnswer({ text }: { text: string }): string {
  return `This is what I found about: ${text.length} ${text.split(" ").toReversed().join(" ")}`;
}
