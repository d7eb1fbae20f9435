/** The agent card on Lambda, whose key is in Secrets Manager, and what there is without A2A: nothing of it needs the table. */
import { generateKeyPairSync } from "node:crypto";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { AgentCard } from "../../../contracts/a2a/card.ts";
import { createFunctionUrlHandler } from "../../../lambdas/execution/handlers/function-url-handler.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { userMessage } from "../a2a/a2a-host.ts";
import { lambdaClient } from "./lambda-client.ts";
import { callersVariable } from "./payloads/function-url.ts";

const url = "https://agents.example/";
const key = "sekisho/prod/CARD_KEY";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const signature = { key: { secretsManager: key }, keyId: "key-1", algorithm: "EdDSA" };
const ledgers = { id: "ledgers", name: "Ledgers", description: "The books.", tags: ["ledger"] };

const before = { ...process.env };
let aws: AwsServices;
beforeEach(async () => {
  aws = await startAwsServices({ account: "111122223333" });
});
afterEach(async () => {
  process.env = { ...before };
  jest.restoreAllMocks();
  await aws.close();
});

/** The function as it starts cold, and what it writes to its log. */
function start(a2a?: object) {
  const said: string[] = [];
  jest.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  const own = {
    AWS_REGION: "eu-central-1",
    SEKISHO_TABLE: "tasks",
    SEKISHO_QUEUE_URL: "http://127.0.0.1:9/tasks",
    SEKISHO_CALLERS: callersVariable,
  };
  process.env = { ...before, ...aws.env, ...own };
  const token = { secretsManager: "of-another-place" };
  const config = {
    destinations: { there: { transport: "https", url, authorizer: { type: "bearer", token } } },
    routes: [{ destination: "there" }],
    execution: { ...(a2a && { a2a }), authenticator: { type: "bearer", tokens: [token] } },
  };
  return { said, ...lambdaClient({ handle: createFunctionUrlHandler({ config }) }) };
}

function verify(card: AgentCard): Promise<void> {
  jest.spyOn(console, "debug").mockImplementation(() => {});
  const check = verifyAgentCardSignature(async () => publicKey);
  return check(card as unknown as Parameters<typeof check>[0]);
}

const isSigned = (card: AgentCard) =>
  verify(card).then(
    () => true,
    () => false,
  );

describe("the card of a function", () => {
  it("says where it was told that clients reach it, that there are pushes and no streams, and nothing of tokens", async () => {
    const { card } = start({ url });
    expect(await card()).not.toHaveProperty("securitySchemes");
    expect(await card()).toMatchObject({
      supportedInterfaces: [
        { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      ],
      capabilities: { streaming: false, pushNotifications: true, extendedAgentCard: false },
    });
  });

  it("is another for who does not say a version, and tells so; a version may stand in the query", async () => {
    const { get } = start({ url });
    const [first, old, inQuery] = await Promise.all([
      get({ "a2a-version": "1.0" }),
      get({}, { path: "/.well-known/agent.json" }),
      get({}, { query: "A2A-Version=1.0" }),
    ]);
    expect(JSON.parse(old.body)).toMatchObject({ protocolVersion: "0.3.0", url, preferredTransport: "JSONRPC" });
    expect(JSON.parse(first.body)).not.toHaveProperty("protocolVersion");
    expect(inQuery.body).toBe(first.body);
    expect([first, old].map(({ headers }) => headers.vary)).toEqual(["A2A-Version", "A2A-Version"]);
  });

  it("is not sent again to who has it, and HEAD tells its tag as GET does", async () => {
    const { get } = start({ url });
    const { headers } = await get();
    expect(await get({ "if-none-match": headers.etag ?? "" })).toMatchObject({ statusCode: 304, body: "" });
    expect(await get({}, { method: "HEAD" })).toMatchObject({ statusCode: 200, headers });
    expect(await get({}, { method: "POST" })).toMatchObject({ statusCode: 405 });
  });

  it("is signed by the key in Secrets Manager already for the first who asks, and the key is read once", async () => {
    aws.secrets.all.set(key, { value: pem });
    const { card, said } = start({ url, signature });
    const cards = await Promise.all([card(), card()]);
    expect(await Promise.all([...cards, { ...(await card()), name: "Another" }].map(isSigned))).toEqual([
      true,
      true,
      false,
    ]);
    expect(aws.calls.map(({ action }) => action)).toEqual(["secretsmanager:GetSecretValue"]);
    expect(said).toEqual([]);
  });

  it("is away while its key is, which stops nothing else, and is there as soon as the key is", async () => {
    const { get, card, ask, said } = start({ url, signature, extendedSkills: [ledgers] });
    expect(await get()).toMatchObject({
      statusCode: 503,
      headers: { "retry-after": "1", "cache-control": "no-store" },
    });
    expect(await ask("GetExtendedAgentCard")).toMatchObject({ statusCode: 503, error: { code: -32603 } });
    expect((await ask("rpc.discover", {}, "")).result).toHaveProperty("openrpc");
    expect(said.length).toBeGreaterThan(0);
    expect(new Set(said.map((line) => JSON.parse(line).message))).toContain("cards_not_made");
    aws.secrets.all.set(key, { value: "no key" });
    expect(await get()).toMatchObject({ statusCode: 503 });
    expect(said.join("")).not.toContain("no key");
    aws.secrets.all.set(key, { value: pem });
    expect(await isSigned(await card())).toBe(true);
  });
});

describe("the extended card of a function", () => {
  it("has the further skills, for whoever got through to it", async () => {
    const { ask, card } = start({ url, extendedSkills: [ledgers] });
    const { result } = await ask<AgentCard>("GetExtendedAgentCard");
    expect(result?.skills.map(({ id }) => id)).toEqual(["task", "ledgers"]);
    expect(await card()).toMatchObject({ capabilities: { extendedAgentCard: true }, skills: [{ id: "task" }] });
    expect(await card()).toHaveProperty("skills.length", 1);
  });

  it("is refused where there is none", async () => {
    const { ask } = start({ url });
    expect((await ask("GetExtendedAgentCard")).error?.code).toBe(-32004);
    expect((await ask("agent/getAuthenticatedExtendedCard", {}, "0.3")).error?.code).toBe(-32007);
  });
});

it.each(["SendStreamingMessage", "SubscribeToTask"])(
  "a function has no streams: %s is refused as the card says",
  async (method) => {
    const params = method === "SubscribeToTask" ? { id: "t" } : { message: userMessage("hi") };
    expect(await start({ url }).ask(method, params)).toMatchObject({ statusCode: 200, error: { code: -32004 } });
  },
);

it("a function that is not told its address knows nothing of A2A", async () => {
  const { get, ask } = start({ signature, name: "Clerk" });
  expect(await get()).toMatchObject({ statusCode: 404 });
  expect(await get({}, { method: "POST", path: "/a2a", body: "{}" })).toMatchObject({ statusCode: 404 });
  for (const method of ["SendMessage", "message/send", "GetTask"])
    expect((await ask(method, { message: userMessage("hi") })).error?.code).toBe(-32601);
  expect((await ask("rpc.discover", {}, "")).result).toHaveProperty("openrpc");
  expect(aws.calls).toEqual([]);
});
