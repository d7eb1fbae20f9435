/** What an operator is told of peers that repeat what they were sent, or say a lot. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createOperatorHandler } from "../../../lambdas/verification/checks/answer-operator.ts";
import { probeDestination } from "../../../lambdas/verification/checks/probe.ts";
import {
  createRedaction,
  redactTransport,
} from "../../../lambdas/verification/checks/redaction.ts";
import type { Transport } from "../../../lambdas/verification/transport/transport.ts";
import { result } from "../../doubles/answers.ts";
import { serve } from "../../doubles/serving.ts";
import { hangMs, hangSignal, longestLimits } from "../../tooling/hang.ts";

const peerToken = "token-of-the-peer-0123456789/abc";
const botToken = "xoxb-0123456789-of-the-bot";
type Said = { title: string; methods: { name: string }[] };

/** Asks about as many destinations, all of them at one peer that says this of itself; `given` is its authorization header. */
async function answer({ count = 1, says }: { count?: number; says: (given: string) => Said }) {
  const { url } = await serve(({ request, body }) => {
    const { title, methods } = says(request.headers.get("authorization") ?? "");
    const document = { openrpc: "1.3.2", info: { title, version: "1" }, methods };
    return result(JSON.parse(Buffer.from(body).toString("utf8")), document);
  });
  const authorizer = { type: "bearer", token: { secretsManager: "peer" } };
  const names = Array.from({ length: count }, (_, index) => `d${index}`);
  const config = parseConfig({
    json: {
      slack: { botToken: { secretsManager: "bot" }, signingSecret: { secretsManager: "signing" } },
      destinations: Object.fromEntries(
        names.map((name) => [name, { transport: "https", url: `${url}/`, authorizer }]),
      ),
      routes: [{ destination: "d0" }],
      limits: longestLimits,
    },
  });
  const answerOperator = createOperatorHandler({
    readEffectiveConfig: async () => ({ config, liveSettings: "read" }),
    readSecret: async (reference) =>
      "secretsManager" in reference && reference.secretsManager === "bot" ? botToken : peerToken,
    slackApiUrl: url,
    aws: {
      region: "eu-central-1",
      credentials: async () => ({ accessKeyId: "AKID", secretAccessKey: "none" }),
    },
    probeStore: async () => undefined,
    probeQueue: async () => undefined,
    log: silentLog,
  });
  const request = { operator: "check_destinations" } as const;
  const signal = hangSignal();
  const text = JSON.stringify(await answerOperator({ request, remainingMs: hangMs, signal }));
  return {
    text,
    checked: JSON.parse(text).checked as { health: string; summary: string; methods?: string[] }[],
  };
}

describe("the answer to an operator", () => {
  it("repeats no credential, whole or in part, that a peer repeats", async () => {
    // Names are cut after 200 characters, which must not leave the beginning of a token.
    const atTheCut = "x".repeat(190);
    const { text, checked } = await answer({
      says: (given) => ({
        title: `You sent ${given}`,
        methods: [
          { name: given.replace("Bearer ", "") },
          { name: `${atTheCut}${given.slice(7)}` },
          { name: botToken },
        ],
      }),
    });
    expect(checked[0]).toMatchObject({
      health: "healthy",
      methods: ["[redacted]", expect.any(String), "[redacted]"],
    });
    for (const secret of [peerToken.slice(0, 8), botToken.slice(0, 8)])
      expect(text).not.toContain(secret);
    expect(text).toContain("You sent [redacted]");
  });

  it("has at most a hundred methods of each peer", async () => {
    const methods = Array.from({ length: 3000 }, () => ({ name: "m".repeat(300) }));
    const { checked } = await answer({ says: () => ({ title: "A peer", methods }) });
    expect(checked[0]?.methods).toHaveLength(100);
    expect(checked[0]?.methods?.[0]).toHaveLength(200);
  });

  it("leaves methods out where all of it would be too long for Lambda", async () => {
    const methods = Array.from({ length: 100 }, () => ({ name: "\u{2028}é".repeat(200) }));
    const { text, checked } = await answer({
      count: 60,
      says: () => ({ title: "A peer", methods }),
    });
    expect(Buffer.byteLength(text)).toBeLessThan(1_100_000);
    expect(checked).toHaveLength(60);
    for (const { health, methods: shown } of checked)
      expect({ health, shown }).toEqual({ health: "healthy", shown: undefined });
  });
});

describe("redaction", () => {
  it("knows a short-lived token without its scheme, and the fields of a signature", () => {
    const redaction = createRedaction();
    const signed =
      "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/scope, SignedHeaders=host;x-amz-date, Signature=0123456789ab";
    redaction.addHeaders({ authorization: "Bearer short-lived-token", "x-signed": signed });
    expect(redaction.text("You sent short-lived-token.")).toBe("You sent [redacted].");
    expect(redaction.text("0123456789ab and AKIAEXAMPLE/scope")).toBe("[redacted] and [redacted]");
  });

  it("covers values of six characters and more, because shorter ones are parts of words", () => {
    const redaction = createRedaction();
    redaction.add("s3cret");
    redaction.add("short");
    expect(redaction.text("It is s3cret, in short.")).toBe("It is [redacted], in short.");
  });

  it("covers how a peer describes itself", async () => {
    const redaction = createRedaction();
    redaction.add("secret-token");
    const description = {
      name: "a secret-token",
      url: "https://x.example/secret-token",
      version: "secret-token",
    };
    const transport = { describe: async () => description } as unknown as Transport;
    const described = redactTransport({ transport, redaction }).describe?.({} as never);
    expect(JSON.stringify(await described)).not.toContain("secret-token");
  });
});

const peer = {
  dialect: "zone",
  address: "https://peer.example.com/",
  authorizer: "sigv4",
} as const;

/** Answers every call with this status. */
function sessionPeer({ status }: { status: number }) {
  const sent = new Set<string>();
  const stopped: { sessionId: string; signal: AbortSignal }[] = [];
  const transport: Transport = {
    send: async ({ body, sessionId }) => {
      sent.add(sessionId);
      const { id } = JSON.parse(Buffer.from(body).toString("utf8"));
      const result = { openrpc: "1.3.2", info: { title: "A peer", version: "1" }, methods: [] };
      return { status, body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result })) };
    },
    stopSession: async (request) => void stopped.push(request),
  };
  return { transport, sent, stopped };
}

describe("a check stops its session", () => {
  it.each([
    { status: 200, health: "healthy" },
    { status: 503, health: "unhealthy" },
  ])("when the peer is $health", async ({ status, health }) => {
    const { transport, sent, stopped } = sessionPeer({ status });
    if (status !== 200) {
      const send = transport.send.bind(transport);
      transport.send = async (request) => ({
        ...(await send(request)),
        body: Buffer.from("not JSON"),
      });
    }
    const probed = await probeDestination({
      transport,
      timeoutMs: 5000,
      signal: new AbortController().signal,
      ...peer,
    });
    expect(probed.health).toBe(health);
    expect(stopped.map(({ sessionId }) => sessionId)).toEqual([...sent]);
  });

  it("and gives up when the function ends", async () => {
    const { transport, stopped } = sessionPeer({ status: 200 });
    const ending = new AbortController();
    await probeDestination({ transport, timeoutMs: 60_000, signal: ending.signal, ...peer });
    expect(stopped[0]?.signal.aborted).toBe(false);
    ending.abort();
    expect(stopped[0]?.signal.aborted).toBe(true);
  });
});
