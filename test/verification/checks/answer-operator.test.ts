/** What an operator is told of peers that repeat what they were sent, or say a lot. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createOperatorHandler } from "@sekisho/verification/checks/answer-operator.ts";
import { probeDestination } from "@sekisho/verification/checks/probe.ts";
import { createRedaction, redactTransport } from "@sekisho/verification/checks/redaction.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { result } from "../../doubles/answers.ts";
import { serve } from "../../doubles/serving.ts";
import { hangMs, hangSignal, longestLimits } from "../../tooling/hang.ts";

const peerToken = "token-of-the-peer-0123456789/abc";
const zoneToken = "token-of-the-zone-0123456789";
const botToken = "xoxb-0123456789-of-the-bot";
/** Asks about a destination whose peer says this title of itself. `sent` is its authorization header. */
async function answer(
  says: (sentText: string) => string,
  authorizer: object = { type: "bearer", token: { secretsManager: "peer" } },
) {
  const { url } = await serve(({ request, body }) => {
    const info = { title: says(request.headers.get("authorization") ?? ""), version: "1" };
    const document = { openrpc: "1.3.2", info, methods: [] };
    return result(JSON.parse(Buffer.from(body).toString("utf8")), document);
  });
  const config = parseConfig({
    json: {
      slack: { botToken: { secretsManager: "bot" }, signingSecret: { secretsManager: "signing" } },
      asker: { issuer: "https://asker.example" },
      destinations: { far: { transport: "https", url: `${url}/`, authorizer } },
      routes: [{ destination: "far" }],
      limits: longestLimits,
    },
  });
  const answerOperator = createOperatorHandler({
    readEffectiveConfig: async () => ({ config, liveSettings: "read" }),
    readSecret: async (reference) =>
      "secretsManager" in reference && reference.secretsManager === "bot" ? botToken : peerToken,
    askerTokens: { issue: async ({ asker }) => `${zoneToken}${asker?.person.user ?? ""}` },
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
  return { text, health: JSON.parse(text).checked[0].health };
}

describe("the answer to an operator", () => {
  it("redacts credentials that a peer repeats, whole or in part", async () => {
    // Names are cut after 200 characters, which must not leave the beginning of a token.
    for (const leadingText of ["You sent ", "x".repeat(190)]) {
      const { text, health } = await answer(
        (sentText) => `${leadingText}${sentText} and ${botToken}`,
      );
      expect(health).toBe("healthy");
      for (const secret of [peerToken, botToken]) expect(text).not.toContain(secret.slice(0, 8));
      expect(text).toContain("[redacted]".slice(0, 5));
    }
  });
});

describe("the answer about a destination that gets the asker's token", () => {
  it("redacts the zone's own token, which names nobody", async () => {
    let sentText = "";
    const { text, health } = await answer(
      (header) => {
        sentText = header;
        return `You sent ${header}`;
      },
      { type: "asker" },
    );
    expect(sentText).toBe(`Bearer ${zoneToken}`);
    expect(health).toBe("healthy");
    expect(text).not.toContain(zoneToken.slice(0, 12));
  });
});

describe("redaction", () => {
  it("redacts a short-lived token without its scheme and the fields of a signature", () => {
    const redaction = createRedaction();
    const signedHeader =
      "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/scope, SignedHeaders=host;x-amz-date, Signature=0123456789ab";
    redaction.addHeaders({ authorization: "Bearer short-lived-token", "x-signed": signedHeader });
    expect(redaction.text("You sent short-lived-token.")).toBe("You sent [redacted].");
    expect(redaction.text("0123456789ab and AKIAEXAMPLE/scope")).toBe("[redacted] and [redacted]");
  });

  it("redacts values of six characters and more, because shorter ones are parts of words", () => {
    const redaction = createRedaction();
    redaction.add("s3cret");
    redaction.add("short");
    expect(redaction.text("It is s3cret, in short.")).toBe("It is [redacted], in short.");
  });

  it("redacts the description that a peer gives of itself", async () => {
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
  const sessionIds = new Set<string>();
  const stops: { sessionId: string; signal: AbortSignal }[] = [];
  const transport: Transport = {
    send: async ({ body, sessionId }) => {
      sessionIds.add(sessionId);
      const { id } = JSON.parse(Buffer.from(body).toString("utf8"));
      const result = { openrpc: "1.3.2", info: { title: "A peer", version: "1" }, methods: [] };
      return { status, body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result })) };
    },
    stopSession: async (request) => void stops.push(request),
  };
  return { transport, sent: sessionIds, stops };
}

describe("the session of a check", () => {
  it.each([
    { status: 200, health: "healthy" },
    { status: 503, health: "unhealthy" },
  ])("stops the session of a check when the peer is $health", async ({ status, health }) => {
    const { transport, sent: sessionIds, stops } = sessionPeer({ status });
    if (status !== 200) {
      const send = transport.send.bind(transport);
      transport.send = async (request) => ({
        ...(await send(request)),
        body: Buffer.from("not JSON"),
      });
    }
    const probeResult = await probeDestination({
      transport,
      timeoutMs: 5000,
      signal: new AbortController().signal,
      ...peer,
    });
    expect(probeResult.health).toBe(health);
    expect(stops.map(({ sessionId }) => sessionId)).toEqual([...sessionIds]);
  });

  it("gives up stopping the session when the function ends", async () => {
    const { transport, stops } = sessionPeer({ status: 200 });
    const ending = new AbortController();
    await probeDestination({ transport, timeoutMs: 60_000, signal: ending.signal, ...peer });
    expect(stops[0]?.signal.aborted).toBe(false);
    ending.abort();
    expect(stops[0]?.signal.aborted).toBe(true);
  });
});
