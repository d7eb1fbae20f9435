/** An Execution host of another company: our own server on loopback, where the echo agent runs. */
import { createEchoAgent } from "../../lambdas/execution/agents/echo.ts";
import { createBearerAuthenticator } from "../../lambdas/execution/authenticator/create-authenticator.ts";
import { createWebIdentityAuthenticator } from "../../lambdas/execution/authenticator/web-identity.ts";
import { createHost } from "../../lambdas/execution/host.ts";
import type { Authenticator } from "../../lambdas/execution/http/exchange.ts";
import { startExecutionServer } from "../../lambdas/execution/http/server.ts";
import { parseExecutionTask } from "../../lambdas/execution/tasks/execution-task.ts";
import { createMemoryTaskStore } from "../../lambdas/shared/engine/memory/task-store.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import { longPollAfterMs, waitForHours } from "./long-task.ts";
import { elsewhereAudience, verificationRoleArn } from "./synthesized.ts";

export type Elsewhere = {
  url: string;
  /** What its host logged. */
  lines: string[];
  close(): Promise<void>;
};

/** One that knows its callers by a token which both sides keep. */
export function startWithToken({ token }: { token: string }): Promise<Elsewhere> {
  return startHost({ authenticator: createBearerAuthenticator({ readTokens: async () => [token] }) });
}

/** One whose agents take hours, and that asks to be polled every ten minutes. */
export function startPatient({ token }: { token: string }): Promise<Elsewhere> {
  const authenticator = createBearerAuthenticator({ readTokens: async () => [token] });
  return startHost({ authenticator, sleep: waitForHours, pollAfterMs: longPollAfterMs });
}

/** One that keeps no secret: it trusts the issuer of the Verification account, for the Verification role. */
export function startWithIssuer({ issuer }: { issuer: string }): Promise<Elsewhere> {
  const roles = [verificationRoleArn];
  return startHost({ authenticator: createWebIdentityAuthenticator({ issuer, audience: elsewhereAudience, roles }) });
}

export async function startHost({
  authenticator,
  platformPrincipal,
  sleep,
  pollAfterMs,
}: {
  authenticator: Authenticator;
  /** How agents wait. */
  sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<void>;
  pollAfterMs?: number;
  /** Who everyone is that gets through, where something in front has seen to that. */
  platformPrincipal?: string;
}): Promise<Elsewhere> {
  const lines: string[] = [];
  const log = createLog({ service: "execution", level: "debug", write: (line) => lines.push(line) });
  const host = createHost({
    agent: createEchoAgent(sleep && { sleep }),
    ...(pollAfterMs && { pollAfterMs }),
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
