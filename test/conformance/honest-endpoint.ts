/** An honest endpoint in this process: our own host with the echo agent behind a real socket. The defects change what it does. */

import { createPublicKey, generateKeyPairSync } from "node:crypto";
import type { AskerZone } from "@sekisho/conformance/asker.ts";
import {
  type ConformanceOptions,
  type ConformanceReport,
  runConformance,
} from "@sekisho/conformance/conformance.ts";
import { createHttpSender } from "@sekisho/conformance/sender.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost, type Host } from "@sekisho/execution/host.ts";
import { parseUsedToken } from "@sekisho/execution/tasks/used-token.ts";
import { createPublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { calculateJwkThumbprint, createLocalJWKSet, type JWTVerifyGetKey } from "jose";
import { type Received, startWebServer } from "../doubles/web-server.ts";
import { memoryStore } from "../execution/test-host.ts";
import { afterTest } from "../tooling/cleanup.ts";
import { hangMs } from "../tooling/hang.ts";
import { createMemoryTaskStore } from "../world/records.ts";

export const token = "the-Token-of-the-first-caller";
export const otherToken = "the-Token-of-the-second-caller";
/** A token of the form of a JWT. Only a defect accepts it. */
export const jwt = [{ alg: "HS256" }, { sub: "first" }, { not: "a signature" }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .join(".");

/** Knows two callers. */
const authenticator: Authenticator = {
  kind: "bearer",
  async authenticate({ header }) {
    const callers = new Map([
      [`Bearer ${token}`, "first"],
      [`Bearer ${otherToken}`, "second"],
    ]);
    return callers.get(header("authorization") ?? "");
  },
};

/** The zone whose tokens a host with `asker` requires. */
export const askerZone: AskerZone = {
  issuer: "https://asker.example",
  audience: "conformance",
  key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
};

function createAskerSettings({ issuer, audience, key }: AskerZone) {
  const readKeys: JWTVerifyGetKey = async (header, token) => {
    const jwk = createPublicKey(key).export({ format: "jwk" });
    const kid = await calculateJwkThumbprint(jwk);
    return createLocalJWKSet({ keys: [{ ...jwk, kid }] })(header, token);
  };
  const zones = [{ issuer, clients: ["sekisho"], algorithms: ["RS256", "ES256"] as const }];
  return {
    settings: { mode: "required" as const, audience, zones },
    usedTokens: createMemoryTaskStore({ parse: parseUsedToken }),
    localKeys: new Map([[issuer, readKeys]]),
  };
}

/** The echo agent, with a number of the run in each answer, so that a second run of a request shows. */
function createNumberedAgent(): Agent {
  const echo = createEchoAgent();
  let runs = 0;
  return async function* numbered(task, context) {
    runs += 1;
    const run = `(run ${runs})`;
    for await (const update of runAgent(echo, task, context)) {
      yield update.type === "answer" ? { ...update, text: `${update.text}\n${run}` } : update;
    }
  };
}

/** Answers `accepted` where the agent needs longer than `syncBudgetMs`. */
export function createHonestHost(
  options: { syncBudgetMs?: number; agent?: Agent; asker?: AskerZone | undefined } = {},
): Host {
  const { syncBudgetMs = 40, agent = createNumberedAgent(), asker } = options;
  const host = createHost({
    agent,
    store: memoryStore(),
    authenticator,
    ...(asker && { asker: createAskerSettings(asker) }),
    syncBudgetMs,
    pollAfterMs: 50,
    publicFetch: createPublicFetch({ allowLoopback: true }),
    dialects: {
      "/zone-strict": "zone-strict",
      "/cleveragents": "cleveragents",
      "/vapora": "vapora",
    },
  });
  afterTest(() => host.stop({ graceMs: 0 }));
  return host;
}

export type Handle = (call: Received) => Promise<Response>;

/** Passes requests to the host as they are. */
export function serveHost(host: Host): Handle {
  return ({ request, body }) =>
    host.handle(
      new Request(request.url, {
        method: request.method,
        headers: request.headers,
        ...withBody(body),
      }),
    );
}

export function withBody(body: Uint8Array<ArrayBuffer>): { body?: Uint8Array<ArrayBuffer> } {
  return body.byteLength === 0 ? {} : { body };
}

/** Short enough for a test, and in the proportions of a real run. */
const texts = { slow: "slow 1200ms", stream: "stream, plan, slow 1200ms" };
const waits = {
  secondLookMs: 150,
  lastLookMs: 150,
  lateAnswer: { timeoutMs: 1500, answerMs: 1700 },
  pollMs: { min: 10, usual: 20, max: 50 },
  hangUpMs: 50,
  retryMs: 5,
};

/** `path` is that of the address, and `token` that of the first caller. */
export type ConformOptions = Partial<ConformanceOptions> & { path?: string; token?: string };

/** Runs the cases against a server with that handler. */
export async function conform(
  handle: Handle,
  values: ConformOptions = {},
): Promise<ConformanceReport> {
  const {
    path = values.profile === "agentcore" ? "/invocations" : "/",
    token: first = token,
    ...options
  } = values;
  const server = await startWebServer({ handle });
  const authorize = (bearer: string) => async () => ({
    headers: { authorization: `Bearer ${bearer}` },
  });
  const sender = createHttpSender({
    url: new URL(path, server.url),
    authorize: authorize(first),
    authorizeAnother: authorize(otherToken),
    isLocal: true,
  });
  try {
    const result = await runConformance({
      sender,
      isIdempotent: true,
      level: "strict",
      callTimeoutMs: hangMs,
      budgetMs: hangMs,
      ...options,
      texts: { ...texts, ...options.texts },
      waits: { ...waits, ...options.waits },
    });
    if ("unreachable" in result) throw new Error(result.unreachable);
    return result;
  } finally {
    await sender.close();
    await server.close();
  }
}

export function namesOf(
  { cases }: Pick<ConformanceReport, "cases">,
  outcome: "passed" | "failed" | "skipped",
): string[] {
  return cases.filter((one) => one.outcome === outcome).map(({ name }) => name);
}
