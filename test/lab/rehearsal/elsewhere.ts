/** Execution hosts of other companies: our own server with the echo agent, on loopback. */
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createPlatformAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { createWebIdentityAuthenticator } from "@sekisho/execution/authenticator/web-identity.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import type { Caller } from "./aws/callers.ts";
import { signedBy } from "./aws/gateway.ts";
import { longPollAfterMs, waitForHours } from "./stories/polling.ts";
import { elsewhereAudience, lent, verificationRoleArn } from "./synthesized.ts";

export type Elsewhere = {
  url: string;
  /** The log of its host. */
  lines: string[];
  close(): Promise<void>;
};

/** A host that shares a token with its callers. */
export function startWithToken({ token }: { token: string }): Promise<Elsewhere> {
  return startHost({
    authenticator: createBearerAuthenticator({ readTokens: async () => [token] }),
  });
}

/** A host whose agents take hours. It asks to be polled every ten minutes. */
export function startPatient({ token }: { token: string }): Promise<Elsewhere> {
  const authenticator = createBearerAuthenticator({ readTokens: async () => [token] });
  return startHost({ authenticator, sleep: waitForHours, pollAfterMs: longPollAfterMs });
}

/** A host without secrets: it trusts the issuer of the Verification account, for the Verification role. */
export function startWithIssuer({ issuer }: { issuer: string }): Promise<Elsewhere> {
  const roles = [verificationRoleArn];
  return startHost({
    authenticator: createWebIdentityAuthenticator({ issuer, audience: elsewhereAudience, roles }),
  });
}

async function startHost({
  authenticator,
  platformPrincipal,
  sleep,
  pollAfterMs,
}: {
  authenticator: Authenticator;
  /** The wait of its agents. */
  sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<void>;
  pollAfterMs?: number;
  /** The caller of every request, which something in front has authenticated. */
  platformPrincipal?: string;
}): Promise<Elsewhere> {
  const lines: string[] = [];
  const log = createLog({
    service: "execution",
    level: "debug",
    write: (line) => lines.push(line),
  });
  const host = createHost({
    agent: createEchoAgent(sleep && { sleep }),
    ...(pollAfterMs && { pollAfterMs }),
    store: createMemoryTaskStore({ parse: parseExecutionTask }),
    authenticator,
    syncBudgetMs: 1200,
    log,
  });
  const server = await startExecutionServer({
    host,
    port: 0,
    log,
    ...(platformPrincipal && { platformPrincipal }),
  });
  return {
    url: `${server.url}/`,
    lines,
    async close() {
      await host.stop({ graceMs: 0 });
      await server.close();
    },
  };
}

/** A host in an AWS account that is in no template. A gateway in front admits one role of that account, by signature. */
export async function startWithSignature({
  callerOf,
}: {
  callerOf: (accessKeyId: string) => Caller | undefined;
}): Promise<Elsewhere> {
  const { service, region, roleArn } = lent;
  const host = await startHost({
    authenticator: createPlatformAuthenticator(),
    platformPrincipal: roleArn,
  });
  const front = await startWebServer({
    async handle(call) {
      const { signal } = call.request;
      const caller = callerOf(signedBy(call).accessKeyId);
      const isSigned =
        caller &&
        sigv4Problem({ received: call, credentials: caller.credentials, service, region }) ===
          undefined;
      if (!isSigned || caller.roleArn !== roleArn)
        return Response.json({ message: "Forbidden" }, { status: 403 });
      return fetch(host.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: call.body,
        signal,
      });
    },
  });
  return {
    url: `${front.url}/`,
    lines: host.lines,
    async close() {
      await front.close();
      await host.close();
    },
  };
}
