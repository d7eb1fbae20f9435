/** Loads the agent that the first argument names, as a started host does, asks it once and prints what happened. */

import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { loadAgent } from "@sekisho/execution/agents/load-agent.ts";
import { agentContext, agentTask } from "../agents/agent-context.ts";

const [, , file = "", cwd = ""] = process.argv;
try {
  const agent = await loadAgent({ agent: file, cwd, readSecret: async () => "" });
  for await (const update of runAgent(
    agent,
    agentTask({ channel: "C1", text: "Good morning" }),
    agentContext(),
  )) {
    console.log(JSON.stringify(update));
  }
  const ids = { requestId: "r", taskId: "t", caller: "c" };
  if (agent.feedback !== undefined)
    console.log(agent.feedback({ vote: "up", voterId: "v", ...ids }));
} catch (error) {
  console.log(error instanceof Error ? error.message : error);
}
