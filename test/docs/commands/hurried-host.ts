/** Our own host for a conformance run, with slow tasks that take seconds instead of half a minute. */
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { createHost } from "../../../lambdas/execution/host.ts";
import type { Authenticator } from "../../../lambdas/execution/http/exchange.ts";
import { startExecutionServer } from "../../../lambdas/execution/http/server.ts";
import { memoryStore } from "../../execution/test-host.ts";
import type { Machine } from "./machine.ts";

/** Resolves to its address. */
export async function startHurriedHost({
  world,
  authenticator,
}: {
  world: Machine;
  authenticator: Authenticator;
}): Promise<string> {
  const patient = createEchoAgent();
  const agent: Agent = (task, context) =>
    patient({ ...task, text: task.text.replace("slow 22s", "slow 2s") }, context);
  const timing = { syncBudgetMs: 50, pollAfterMs: 50 };
  const host = createHost({ agent, store: memoryStore(), authenticator, ...timing });
  const server = await startExecutionServer({ host, port: 0 });
  world.after(async () => {
    await host.stop({ graceMs: 0 });
    await server.close();
  });
  return server.url;
}
