/** The agents of one host: its main agent, and those that tasks choose by their names. */
import type { Agent } from "./agent.ts";

/** One agent that runs each task, and passes on each vote, with the agent of the task's name. The host has checked the names. */
export function combineAgents({
  main,
  named,
}: {
  main: Agent;
  named: ReadonlyMap<string, Agent>;
}): Agent {
  if (named.size === 0) return main;
  const find = (name: string | undefined) => named.get(name ?? "") ?? main;
  const run: Agent = (task, context) => find(task.agent)(task, context);
  return Object.assign(run, {
    feedback: (vote: Parameters<NonNullable<Agent["feedback"]>>[0]) =>
      find(vote.agent).feedback?.(vote),
  });
}
