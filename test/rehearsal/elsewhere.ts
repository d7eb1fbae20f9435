/** An Execution host of another company: our own server on loopback with a token, where the echo agent runs. */
import { createEchoAgent } from "../../lambdas/execution/agents/echo.ts";
import { bearerAuthenticator } from "../../lambdas/execution/host/authenticator/bearer.ts";
import { parseExecutionTask } from "../../lambdas/execution/host/execution-task.ts";
import { createHost } from "../../lambdas/execution/host/host.ts";
import { startExecutionServer } from "../../lambdas/execution/server.ts";
import { createMemoryTaskStore } from "../../lambdas/shared/engine/memory/task-store.ts";
import { createLog } from "../../lambdas/shared/log.ts";

export type Elsewhere = {
  url: string;
  /** What its host logged. */
  lines: string[];
  close(): Promise<void>;
};

export async function startElsewhere({ token }: { token: string }): Promise<Elsewhere> {
  const lines: string[] = [];
  const log = createLog({ service: "execution", level: "debug", write: (line) => lines.push(line) });
  const host = createHost({
    agent: createEchoAgent(),
    store: createMemoryTaskStore({ parse: parseExecutionTask }),
    authenticator: bearerAuthenticator({ readTokens: async () => [token] }),
    syncBudgetMs: 1200,
    log,
  });
  const server = await startExecutionServer({ host, port: 0, log });
  return {
    url: `${server.url}/`,
    lines,
    async close() {
      await host.stop({ graceMs: 0 });
      await server.close();
    },
  };
}
