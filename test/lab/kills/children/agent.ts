/** The agent of these runs: writes down when it starts and when it ends, and is the echo agent in between. */
import { appendFileSync } from "node:fs";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";

const echo = createEchoAgent();

export const agent: Agent = async function* (task, context) {
  write("start", context.requestId);
  try {
    yield* runAgent(echo, task, context);
  } finally {
    write("end", context.requestId);
  }
};

/** A kill leaves the whole line or none, because it is appended in one piece (O_APPEND). */
function write(what: "start" | "end", requestId: string): void {
  appendFileSync("agent.log", `${what} ${requestId} ${process.pid}\n`);
}
