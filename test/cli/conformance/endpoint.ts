/** Our own host behind a socket, intact or broken on purpose, and the cases that run against it. */
import { randomUUID } from "node:crypto";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { createBearerAuthenticator } from "../../../lambdas/execution/authenticator/create-authenticator.ts";
import { createHost, type Host } from "../../../lambdas/execution/host.ts";
import { createBearerAuthorizer } from "../../../lambdas/verification/transport/authorizer/token-authorizer.ts";
import { createHttpsTransport } from "../../../lambdas/verification/transport/http/transport.ts";
import { createPeerUnderTest, type Strangers } from "../../../lib/cli/conformance/peer.ts";
import { type CaseReport, conformanceCases, runCases } from "../../../lib/cli/conformance/run-cases.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";
import { memoryStore } from "../../execution/test-host.ts";

export const token = "a-token-of-this-test";

/** Answers `accepted` where the agent needs longer than `syncBudgetMs`. */
export function ownHost({ syncBudgetMs = 50 } = {}): Host {
  return createHost({
    agent: createEchoAgent(),
    store: memoryStore(),
    authenticator: createBearerAuthenticator({ readTokens: async () => [token] }),
    syncBudgetMs,
    pollAfterMs: 50,
  });
}

type Asked = {
  handle: (received: Received) => Promise<Response>;
  /** Runs only the cases whose names begin with it. */
  theme?: string;
  slow?: string;
  ask?: string;
  isIdempotent?: boolean;
  now?: () => number;
  timeoutMs?: number;
  timeOver?: AbortSignal;
};

/** Runs the cases against a server with that handler. */
export async function conform(asked: Asked): Promise<CaseReport[]> {
  const {
    handle,
    theme = "",
    slow = theme.startsWith("execute") ? "slow 300ms" : "slow 20s",
    ask = "Good morning.",
    isIdempotent = false,
  } = asked;
  const { now = () => 0, timeoutMs = 5000, timeOver = new AbortController().signal } = asked;
  const { url, close } = await startWebServer({ handle });
  const interrupt = new AbortController().signal;
  const signal = AbortSignal.any([interrupt, timeOver]);
  const reach = (bearer: string) =>
    createHttpsTransport({ url, authorizer: createBearerAuthorizer({ readToken: async () => bearer }) });
  const transport = reach(token);
  const strangers: Strangers = {
    nobody: createHttpsTransport({ url, authorizer: { authorize: () => ({}) } }),
    impostor: reach("another-token"),
  };
  const sessionId = `conformance-${randomUUID()}`;
  const peer = createPeerUnderTest({
    transport,
    strangers,
    authorizer: "bearer",
    dialect: "zone",
    sessionId,
    timeoutMs,
    signal,
  });
  try {
    return await runCases({
      peer,
      texts: { plain: "Good morning.", slow, fail: "fail", ask },
      now,
      cases: conformanceCases.filter(({ name }) => name.startsWith(theme)),
      isIdempotent,
      interrupt,
      timeOver,
    });
  } finally {
    for (const one of [transport, strangers.nobody, strangers.impostor]) await one.close?.();
    await close();
  }
}

export function namesOf(reports: readonly CaseReport[], outcome: CaseReport["outcome"]): string[] {
  return reports.filter((report) => report.outcome === outcome).map(({ name }) => name);
}
