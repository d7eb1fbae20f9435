/** An Execution host of another company: our own server on loopback, where the echo agent runs. */
import { createEchoAgent } from "../../lambdas/execution/agents/echo.ts";
import type { Authenticator } from "../../lambdas/execution/host/authenticator/authenticator.ts";
import { bearerAuthenticator } from "../../lambdas/execution/host/authenticator/bearer.ts";
import { webIdentityAuthenticator } from "../../lambdas/execution/host/authenticator/web-identity.ts";
import { parseExecutionTask } from "../../lambdas/execution/host/execution-task.ts";
import { createHost } from "../../lambdas/execution/host/host.ts";
import { startExecutionServer } from "../../lambdas/execution/server.ts";
import { createMemoryTaskStore } from "../../lambdas/shared/engine/memory/task-store.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import { elsewhereAudience, verificationRoleArn } from "./synthesized.ts";

export type Elsewhere = {
  url: string;
  /** What its host logged. */
  lines: string[];
  close(): Promise<void>;
};

/** One that knows its callers by a token which both sides keep. */
export function startWithToken({ token }: { token: string }): Promise<Elsewhere> {
  return startHost({ authenticator: bearerAuthenticator({ readTokens: async () => [token] }) });
}

/** One that keeps no secret: it trusts the issuer of the Verification account, for the Verification role. */
export function startWithIssuer({ issuer }: { issuer: string }): Promise<Elsewhere> {
  const roles = [verificationRoleArn];
  return startHost({ authenticator: webIdentityAuthenticator({ issuer, audience: elsewhereAudience, roles }) });
}

export async function startHost({
  authenticator,
  platformPrincipal,
}: {
  authenticator: Authenticator;
  /** Who everyone is that gets through, where something in front has seen to that. */
  platformPrincipal?: string;
}): Promise<Elsewhere> {
  const lines: string[] = [];
  const log = createLog({ service: "execution", level: "debug", write: (line) => lines.push(line) });
  const host = createHost({
    agent: createEchoAgent(),
    store: createMemoryTaskStore({ parse: parseExecutionTask }),
    authenticator,
    syncBudgetMs: 1200,
    log,
  });
  const server = await startExecutionServer({ host, port: 0, log, ...(platformPrincipal && { platformPrincipal }) });
  return {
    url: `${server.url}/`,
    lines,
    async close() {
      await host.stop({ graceMs: 0 });
      await server.close();
    },
  };
}
