/** What an operator is told of peers that repeat what they were sent, or say a lot. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createOperatorHandler } from "../../../lambdas/verification/checks/answer-operator.ts";
import { result } from "../../doubles/answers.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";

const peerToken = "token-of-the-peer-0123456789/abc";
const botToken = "xoxb-0123456789-of-the-bot";
const servers: WebServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Said = { title: string; methods: { name: string }[] };

/** Asks about as many destinations, all of them at one peer that says this of itself; `given` is its authorization header. */
async function answer({ count = 1, says }: { count?: number; says: (given: string) => Said }) {
  const server = await startWebServer({
    async handle({ request, body }) {
      const { title, methods } = says(request.headers.get("authorization") ?? "");
      const document = { openrpc: "1.3.2", info: { title, version: "1" }, methods };
      return result(JSON.parse(Buffer.from(body).toString("utf8")), document);
    },
  });
  servers.push(server);
  const authorizer = { type: "bearer", token: { secretsManager: "peer" } };
  const names = Array.from({ length: count }, (_, index) => `d${index}`);
  const config = parseConfig({
    json: {
      slack: { botToken: { secretsManager: "bot" }, signingSecret: { secretsManager: "signing" } },
      destinations: Object.fromEntries(
        names.map((name) => [name, { transport: "https", url: `${server.url}/`, authorizer }]),
      ),
      routes: [{ destination: "d0" }],
    },
  });
  const answerOperator = createOperatorHandler({
    effective: async () => ({ config, liveSettings: "read" }),
    readSecret: async (reference) =>
      "secretsManager" in reference && reference.secretsManager === "bot" ? botToken : peerToken,
    slackApiUrl: server.url,
    aws: { region: "eu-central-1", credentials: async () => ({ accessKeyId: "AKID", secretAccessKey: "none" }) },
    askStore: async () => undefined,
    askQueue: async () => undefined,
    log: silentLog,
  });
  const request = { operator: "check_destinations" } as const;
  const text = JSON.stringify(
    await answerOperator({ request, remainingMs: 60_000, signal: AbortSignal.timeout(60_000) }),
  );
  return { text, checked: JSON.parse(text).checked as { health: string; words: string; methods?: string[] }[] };
}

describe("the answer to an operator", () => {
  it("repeats no credential, whole or in part, that a peer repeats", async () => {
    // Names are cut after 200 characters, which must not leave the beginning of a token.
    const atTheCut = "x".repeat(190);
    const { text, checked } = await answer({
      says: (given) => ({
        title: `You sent ${given}`,
        methods: [{ name: given.replace("Bearer ", "") }, { name: `${atTheCut}${given.slice(7)}` }, { name: botToken }],
      }),
    });
    expect(checked[0]).toMatchObject({ health: "healthy", methods: ["[redacted]", expect.any(String), "[redacted]"] });
    for (const secret of [peerToken.slice(0, 8), botToken.slice(0, 8)]) expect(text).not.toContain(secret);
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
    const { text, checked } = await answer({ count: 60, says: () => ({ title: "A peer", methods }) });
    expect(Buffer.byteLength(text)).toBeLessThan(1_100_000);
    expect(checked).toHaveLength(60);
    for (const { health, methods: shown } of checked)
      expect({ health, shown }).toEqual({ health: "healthy", shown: undefined });
  });
});
