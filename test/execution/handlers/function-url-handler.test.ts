/** The Function URL's handler: nobody is served whom AWS does not name, and the agent card of a function. */

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import type { AgentCard } from "@sekisho/contracts/a2a/card.ts";
import { createPlatformAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import {
  createFunctionUrlHandler,
  handleFunctionUrlRequests,
} from "@sekisho/execution/handlers/function-url-handler.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import { toExchange, toRolePrincipal } from "@sekisho/execution/http/function-url-event.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { userMessage } from "../a2a/a2a-host.ts";
import { type Answer, createGate, createTestHost, hello } from "../test-host.ts";
import {
  callerArn,
  callerRoleArn,
  callersVariable,
  functionUrlEvent,
  lambdaClient,
} from "./function-url.ts";

type EventOptions = Parameters<typeof functionUrlEvent>[0];

function open(options: Partial<HostOptions> = {}) {
  const { host, store } = createTestHost({
    authenticator: createPlatformAuthenticator(),
    ...options,
  });
  const handle = handleFunctionUrlRequests({
    host,
    callers: [callerRoleArn, "arn:aws:iam::111122223333:role/agents/sekisho-prod-other"],
  });
  async function call(
    method: string,
    params: unknown,
    { id = randomUUID(), ...event }: EventOptions & { id?: string } = {},
  ) {
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const response = await handle(functionUrlEvent({ body, ...event }));
    return { ...response, answer: JSON.parse(response.body) as Answer };
  }
  return { handle, call, store };
}

/** The fixture with something taken out or put in. */
function tamperWith(change: (event: ReturnType<typeof functionUrlEvent>) => unknown): unknown {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: randomUUID(),
    method: "execute_task",
    params: hello,
  });
  const event = functionUrlEvent({ body });
  return change(event);
}

describe("an event of the Function URL", () => {
  it("answers an event like a request to the host", async () => {
    const { statusCode, headers, answer } = await open().call("execute_task", hello);
    expect([statusCode, headers["content-type"]]).toEqual([200, "application/json"]);
    expect(answer.result?.response_text).toBe("done");
  });

  it("decodes a base64 body as UTF-8", async () => {
    const gate = createGate();
    gate.letGo();
    const { handle } = open({ agent: gate.agent });
    const text = "関所 🏯 é";
    const request = JSON.stringify({
      jsonrpc: "2.0",
      id: randomUUID(),
      method: "execute_task",
      params: { ...hello, text },
    });
    const body = Buffer.from(request).toString("base64");
    await handle(functionUrlEvent({ body, isBase64Encoded: true }));
    await handle(
      functionUrlEvent({ body: request.replace(/"id":"[^"]+"/, `"id":"${randomUUID()}"`) }),
    );
    expect(gate.started.map(({ task }) => task.text)).toEqual([text, text]);
  });

  it("answers a missing body with a parse error, and another method or path with its status", async () => {
    const { handle } = open();
    expect(JSON.parse((await handle(functionUrlEvent({}))).body).error.code).toBe(-32700);
    expect(await handle(functionUrlEvent({ method: "GET" }))).toMatchObject({
      statusCode: 405,
      headers: { allow: "POST" },
    });
    expect((await handle(functionUrlEvent({ path: "/admin" }))).statusCode).toBe(404);
  });

  it("answers 413 to a body above the limit", async () => {
    const { statusCode, answer } = await open({ maxRequestBytes: 300 }).call("execute_task", {
      ...hello,
      text: "é".repeat(150),
    });
    expect([statusCode, answer.error?.data.reason]).toEqual([413, "payload_too_large"]);
  });

  it("continues the caller's trace", async () => {
    const gate = createGate();
    gate.letGo();
    await open({ agent: gate.agent }).call("execute_task", hello);
    expect(gate.started[0]?.context.trace.traceparent).toMatch(
      /^00-0af7651916cd43dd8448eb211c80319c-/,
    );
  });

  it.each<[string, unknown]>([
    [
      "without an authorizer",
      tamperWith(({ requestContext: { authorizer: _, ...context }, ...event }) => ({
        ...event,
        requestContext: context,
      })),
    ],
    [
      "whose authorizer is not IAM",
      tamperWith((event) => ({
        ...event,
        requestContext: { ...event.requestContext, authorizer: { jwt: {} } },
      })),
    ],
    [
      "whose caller is null",
      tamperWith((event) => ({
        ...event,
        requestContext: { ...event.requestContext, authorizer: { iam: null } },
      })),
    ],
    ["without a caller's ARN", functionUrlEvent({ userArn: "" })],
    ["without a caller's account", functionUrlEvent({ accountId: "" })],
    ["whose ARN is of another account", functionUrlEvent({ accountId: "999999999999" })],
    [
      "of another role",
      functionUrlEvent({ userArn: "arn:aws:sts::111122223333:assumed-role/admin/jo" }),
    ],
    [
      "of a user",
      functionUrlEvent({ userArn: "arn:aws:iam::111122223333:user/sekisho-prod-verification" }),
    ],
    ["of the account itself", functionUrlEvent({ userArn: "arn:aws:iam::111122223333:root" })],
    [
      "of a role with the same name in another account",
      functionUrlEvent({
        userArn: callerArn.replace("111122223333", "999999999999"),
        accountId: "999999999999",
      }),
    ],
    ["with a malformed ARN", functionUrlEvent({ userArn: "sekisho-prod-verification" })],
    [
      "that claims its caller in headers",
      tamperWith(({ requestContext: _, ...event }) => ({
        ...event,
        headers: { ...event.headers, "x-principal": callerArn },
      })),
    ],
    ["that is not an object", { hello: "world" }],
    ["that is undefined", undefined],
  ])("answers 403 on every path to an event %s", async (_name, event) => {
    const { handle, store } = open();
    for (const rawPath of ["/", "/invocations", "/ping"]) {
      const response = await handle(typeof event === "object" ? { ...event, rawPath } : event);
      expect(response.statusCode).toBe(403);
      expect(JSON.parse(response.body)).toMatchObject({
        id: null,
        error: { code: -32067, data: { reason: "permission_denied" } },
      });
    }
    expect((await store.list({ index: "state", key: "completed", limit: 1 })).items).toEqual([]);
  });
});

describe("a refused caller", () => {
  it("logs one refused caller per address and minute", async () => {
    const lines: string[] = [];
    let nowMs = 0;
    const handle = handleFunctionUrlRequests({
      host: createTestHost({ authenticator: createPlatformAuthenticator() }).host,
      callers: [callerRoleArn],
      log: createLog({ service: "execution", write: (line) => lines.push(line) }),
      now: () => nowMs,
    });
    const from = (sourceIp: string) => {
      const event = functionUrlEvent({
        userArn: "arn:aws:sts::111122223333:assumed-role/admin/jo",
      });
      const { requestContext } = event;
      return {
        ...event,
        requestContext: { ...requestContext, http: { ...requestContext.http, sourceIp } },
      };
    };
    for (let count = 0; count < 3; count++) await handle(from("192.0.2.1"));
    await handle(from("192.0.2.2"));
    await handle({ hello: "world" });
    nowMs += 60_000;
    await handle(from("192.0.2.1"));
    const logFields = lines
      .map((line) => JSON.parse(line))
      .map((each) => [each.message, each.reason, each.source_address]);
    expect(logFields).toEqual([
      ["request_refused", "permission_denied", "192.0.2.1"],
      ["request_refused", "permission_denied", "192.0.2.2"],
      ["request_refused", "unauthenticated", undefined],
      ["request_refused", "permission_denied", "192.0.2.1"],
    ]);
  });
});

describe("the identity of the caller", () => {
  const principalOf = (userArn: string, accountId = "111122223333") =>
    toExchange(functionUrlEvent({ userArn, accountId }))?.platformPrincipal;

  it("identifies a caller by account and role, regardless of the session name", () => {
    const sessions = ["a", "b@example.com", "sekisho-worker-7"].map((name) =>
      principalOf(`arn:aws:sts::111122223333:assumed-role/sekisho-prod-verification/${name}`),
    );
    expect(new Set(sessions)).toEqual(new Set(["111122223333:role/sekisho-prod-verification"]));
  });

  it.each([
    ["another role", "arn:aws:sts::111122223333:assumed-role/other/s", "111122223333:role/other"],
    ["a user", "arn:aws:iam::111122223333:user/ops/jo", "111122223333:user/ops/jo"],
    ["the account itself", "arn:aws:iam::111122223333:root", "111122223333:root"],
    [
      "another partition",
      "arn:aws-us-gov:sts::111122223333:assumed-role/r/s",
      "111122223333:role/r",
    ],
  ])("identifies %s as the caller", (_name, userArn, principal) => {
    expect(principalOf(userArn)).toBe(principal);
  });

  it("recognizes an allowed role by its name, regardless of its path", () => {
    const principals = ["role/r", "role/a/b/r", "role/aws-reserved/sso.amazonaws.com/r"].map(
      (role) => toRolePrincipal(`arn:aws:iam::111122223333:${role}`),
    );
    expect(new Set(principals)).toEqual(
      new Set([principalOf("arn:aws:sts::111122223333:assumed-role/r/s")]),
    );
    for (const arn of [
      "",
      "r",
      "arn:aws:iam::111122223333:user/r",
      "arn:aws:iam::111122223333:role/",
    ])
      expect(() => toRolePrincipal(arn)).toThrow("is not the ARN of a role");
  });

  it("finds a task for another session of its role but not for another role", async () => {
    const { call } = open();
    const id = randomUUID();
    await call("execute_task", hello, { id });
    const renamedCaller = { userArn: callerArn.replace("worker-7", "worker-8") };
    expect((await call("get_task", { request_id: id }, renamedCaller)).answer.result?.status).toBe(
      "success",
    );
    const other = { userArn: callerArn.replace("verification", "other") };
    expect((await call("get_task", { request_id: id }, other)).answer.error?.data.reason).toBe(
      "task_not_found",
    );
  });
});

const url = "https://agents.example/";
const key = "sekisho/prod/CARD_KEY";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const signature = { key: { secretsManager: key }, keyId: "key-1", algorithm: "EdDSA" };
const ledgers = { id: "ledgers", name: "Ledgers", description: "The books.", tags: ["ledger"] };
const originalEnv = { ...process.env };
let aws: AwsServices;

beforeEach(async () => {
  aws = await startAwsServices({ account: "111122223333" });
});

afterEach(async () => {
  process.env = { ...originalEnv };
  jest.restoreAllMocks();
  await aws.close();
});

/** The function as it starts cold, and what it writes to its log. */
function start(a2a?: object) {
  const stderrLines: string[] = [];
  jest
    .spyOn(process.stderr, "write")
    .mockImplementation((text) => stderrLines.push(String(text)) > 0);
  const own = {
    AWS_REGION: "eu-central-1",
    SEKISHO_TABLE: "tasks",
    SEKISHO_QUEUE_URL: "http://127.0.0.1:9/tasks",
    SEKISHO_CALLERS: callersVariable,
  };
  process.env = { ...originalEnv, ...aws.env, ...own };
  const token = { secretsManager: "of-another-place" };
  const config = {
    destinations: { there: { transport: "https", url, authorizer: { type: "bearer", token } } },
    routes: [{ destination: "there" }],
    execution: { ...(a2a && { a2a }), authenticator: { type: "bearer", tokens: [token] } },
  };
  return {
    said: stderrLines,
    ...lambdaClient({
      handle: createFunctionUrlHandler({ config: parseExecutionSections(config) }),
    }),
  };
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
  it("names the configured URL in the card, with pushes, no streams, and no security schemes", async () => {
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

  it("signs the card from the first parallel requests on with a key that it reads once", async () => {
    aws.secrets.all.set(key, { value: pem });
    const { card, said } = start({ url, signature });
    const cards = await Promise.all([card(), card()]);
    expect(
      await Promise.all([...cards, { ...(await card()), name: "Another" }].map(isSigned)),
    ).toEqual([true, true, false]);
    expect(aws.calls.map(({ action }) => action)).toEqual(["secretsmanager:GetSecretValue"]);
    expect(said).toEqual([]);
  });

  it("answers 503 for the card while its key is missing, and serves everything else", async () => {
    const { get, card, ask, said } = start({ url, signature, extendedSkills: [ledgers] });
    expect(await get()).toMatchObject({
      statusCode: 503,
      headers: { "retry-after": "1", "cache-control": "no-store" },
    });
    expect(await ask("GetExtendedAgentCard")).toMatchObject({
      statusCode: 503,
      error: { code: -32603 },
    });
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

it("offers no A2A without a configured address", async () => {
  const { get, ask } = start({ signature, name: "Clerk" });
  expect(await get()).toMatchObject({ statusCode: 404 });
  expect(await get({}, { method: "POST", path: "/a2a", body: "{}" })).toMatchObject({
    statusCode: 404,
  });
  for (const method of ["SendMessage", "message/send", "GetTask"])
    expect((await ask(method, { message: userMessage("hi") })).error?.code).toBe(-32601);
  expect((await ask("rpc.discover", {}, "")).result).toHaveProperty("openrpc");
  expect(aws.calls).toEqual([]);
});
