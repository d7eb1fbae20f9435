/** For whoever writes an agent: what it threw, on the terminal. Off by default, since an error may hold texts and secrets. */
import type { Agent } from "../../lambdas/execution/agents/agent.ts";

/** The same agent; an error that it throws of its own accord is shown with its stack before the host sees it. */
export function showAgentErrors({ agent, show }: { agent: Agent; show: (text: string) => void }): Agent {
  return async function* (task, context) {
    try {
      yield* agent(task, context);
    } catch (error) {
      if (!context.signal.aborted) show(error instanceof Error ? (error.stack ?? error.message) : String(error));
      throw error;
    }
  };
}
