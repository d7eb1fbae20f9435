/** An Execution server in a process of its own, around the sqlite file of the first argument; ends cleanly on SIGTERM. */
import { appendFileSync } from "node:fs";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";

const [, , file = "", startsFile = ""] = process.argv;
const database = openDatabase({ file });
const echo = createEchoAgent();

/** Writes down every start, where the test counts them. */
const agent: Agent = (task, context) => {
  appendFileSync(startsFile, `${context.requestId}\n`);
  return echo(task, context);
};

const host = createHost({
  agent,
  store: createSqliteTaskStore({ database, parse: parseExecutionTask }),
  authenticator: createNoneAuthenticator(),
  syncBudgetMs: 0,
  leaseMs: 200,
  lostAfterMs: 100,
});
const server = await startExecutionServer({ host, port: 0 });

process.once("SIGTERM", async () => {
  await host.stop({ graceMs: 3000 });
  await server.close();
  await database.close();
});

console.log(server.url);
