/** The agents of one host: its main agent, and those that tasks choose by their names. */
import type { Agent } from "./agent.ts";

/**
 * One agent that runs each task, and passes on each vote, with the agent of the task's name. The host has checked the names, but a stored
 * task may be of an agent that a newer configuration no longer has. It fails, because another agent may do something else.
 */
export function combineAgents({
  agents,
  mainName,
}: {
  agents: ReadonlyMap<string | undefined, Agent>;
  /** Undefined if the main agent has no name. */
  mainName: string | undefined;
}): Agent {
  const find = (name: string | undefined) => agents.get(name ?? mainName);
  const run: Agent = (task, context) => (find(task.agent) ?? failUnknown)(task, context);
  return Object.assign(run, {
    feedback: (vote: Parameters<NonNullable<Agent["feedback"]>>[0]) =>
      find(vote.agent)?.feedback?.(vote),
  });
}

const failUnknown: Agent = async function* (_task, { log }) {
  log.error("agent_unknown", { reason: "execution_failed" });
  yield { type: "failure", reason: "execution_failed" };
};
