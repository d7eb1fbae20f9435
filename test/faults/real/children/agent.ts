/** The agent of these runs: says that it starts before it does anything else, then is the echo agent. */
import { appendFileSync } from "node:fs";
import type { Agent } from "../../../../lambdas/execution/agents/agent.ts";
import { createEchoAgent } from "../../../../lambdas/execution/agents/echo.ts";

const echo = createEchoAgent();

/** One line a start, appended at once (O_APPEND): a kill in the same moment leaves the whole line, or none and no start. */
export const agent: Agent = async function* (task, context) {
  appendFileSync("starts.log", `${context.requestId}\n`);
  yield* echo(task, context);
};
