/** Attacks on the verification of the asker: replays, failing stores, both versions of A2A, and the headers as each platform passes them on. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "@jest/globals";
import { askerHeader } from "@sekisho/contracts/asker.ts";
import type { AgentContext, AgentTask } from "@sekisho/execution/agents/agent.ts";
import { createPlatformAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { openUsedTokens } from "@sekisho/execution/aws-engine.ts";
import { handleFunctionUrlRequests } from "@sekisho/execution/handlers/function-url-handler.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { parseUsedToken, type UsedTokenStore } from "@sekisho/execution/tasks/used-token.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { createAskerZone } from "../../doubles/asker-zone.ts";
import {
  emulatedAws,
  emulatorAccess,
  startDynamoDbEmulator,
  whyNoDynamoDb,
} from "../../doubles/aws/emulators.ts";
import { createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { createSqliteFile } from "../../runtime/engine/sqlite/sqlite-file.ts";
import { serveA2a, userMessage } from "../a2a/a2a-host.ts";
import { callerRoleArn, functionUrlEvent } from "../handlers/function-url.ts";
import { type Answer, createTestHost, hello, memoryStore, post } from "../test-host.ts";

const zone = createAskerZone();

function executeBody(params: object = hello): string {
  return JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "execute_task", params });
}

async function countAccepted(usedTokens: UsedTokenStore) {
  const hosts = [1, 2].map(() => createTestHost({ asker: zone.asker("required", { usedTokens }) }));
  const body = executeBody();
  const headers = await zone.header({ user: "UKIM", body });
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const response = await hosts[index % 2]?.host.handle(post(body, { headers }));
      const answer = (await response?.json()) as Answer;
      return answer.error?.data.reason ?? answer.result?.status ?? "nothing";
    }),
  );
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

describe("50 replays at once", () => {
  const once = { success: 1, asker_unverified: 49 };

  it("accepts one with sqlite", async () => {
    const database = createSqliteFile().open();
    const usedTokens = createSqliteTaskStore({ database, parse: parseUsedToken });
    expect(await countAccepted(usedTokens)).toEqual(once);
  });

  (whyNoDynamoDb === undefined ? it : it.skip)("accepts one with DynamoDB", async () => {
    const emulator = await startDynamoDbEmulator();
    closeAfterTest(emulator);
    const client = new DynamoDBClient({ ...emulatorAccess, endpoint: emulator.endpoint });
    const table = await createTaskTable({ client });
    client.destroy();
    const usedTokens = openUsedTokens({ table, aws: emulatedAws(emulator.endpoint) });
    expect(await countAccepted(usedTokens)).toEqual(once);
  });
});

it("takes the retry with a new token after the task could not be stored", async () => {
  const store = memoryStore();
  let isDown = true;
  const host = createTestHost({
    asker: zone.asker(),
    store: {
      ...store,
      create: (item) => (isDown ? Promise.reject(new Error("down")) : store.create(item)),
    },
  });
  const body = executeBody();
  const send = async () => {
    const headers = await zone.header({ user: "UKIM", body });
    return (await (await host.host.handle(post(body, { headers }))).json()) as Answer;
  };
  expect((await send()).error?.data).toMatchObject({ reason: "unavailable", retryable: true });
  isDown = false;
  expect((await send()).result?.status).toBe("success");
});

it("records a vote without a token", async () => {
  const host = createTestHost({ asker: zone.asker() });
  const body = executeBody();
  const headers = await zone.header({ user: "UKIM", body });
  await host.host.handle(post(body, { headers }));
  const { id: request_id } = JSON.parse(body) as { id: string };
  const vote = { vote: "up", voter_id: "UKIM", voted_at: new Date().toISOString() };
  const { result } = await host.call("get_task", { request_id });
  const { result: recorded, error } = await host.call("feedback", { request_id, ...vote });
  expect([result?.status, recorded?.status, error]).toEqual(["success", "recorded", undefined]);
});

const versions = [
  {
    version: "1.0",
    method: "SendMessage",
    message: (text: string, more = {}) => userMessage(text, more),
  },
  {
    version: "0.3",
    method: "message/send",
    message: (text: string, more = {}) => ({
      ...{ kind: "message", messageId: randomUUID(), role: "user" },
      ...{ parts: [{ kind: "text", text }], ...more },
    }),
  },
];

describe.each(versions)("A2A $version", ({ version, method, message }) => {
  it("needs a token, names who answers, and shows and stores nothing of the tokens", async () => {
    const sqlite = createSqliteFile();
    const database = sqlite.open();
    const turns: { task: AgentTask; context: AgentContext }[] = [];
    const tokens: string[] = [];
    const host = await serveA2a({
      store: createSqliteTaskStore({ database, parse: parseExecutionTask }),
      asker: zone.asker("required", {
        usedTokens: createSqliteTaskStore({ database, parse: parseUsedToken }),
      }),
      agent: async function* (task, context) {
        turns.push({ task, context });
        if (task.answers.length === 0) yield { type: "question", prompt: "Deploy?" };
        else yield { type: "answer", text: "done" };
      },
    });
    const outputs: string[] = [];
    async function send(sent: object, user?: string) {
      const params = { message: sent };
      const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method, params });
      const token = await zone.token({ user: user ?? "UKIM", body });
      tokens.push(token);
      const headers: Record<string, string> =
        user === undefined ? { "x-token": "none" } : { [askerHeader.toUpperCase()]: token };
      const text = await (await host.post(body, { version, headers })).text();
      outputs.push(text);
      return text;
    }
    expect(await send(message("deploy"))).toMatch(/asker_unverified/i);
    expect(turns).toHaveLength(0);
    const first = await send(message("deploy"), "UKIM");
    const { result } = JSON.parse(first) as { result: { task?: { id: string }; id?: string } };
    const taskId = result.task?.id ?? result.id ?? "";
    expect(await send(message("yes", { taskId }))).toMatch(/asker_unverified/i);
    expect(await send(message("yes", { taskId }), "ULEE")).toMatch(/done/);
    expect(turns.map(({ context }) => context.asker?.user)).toEqual(["UKIM", "UKIM"]);
    expect(turns[1]?.context.askerToken).toBeUndefined();
    expect(turns[1]?.task.answers[0]?.asker?.user).toBe("ULEE");
    const names = version === "1.0" ? "GetTask" : "tasks/get";
    const shown = await host.ask(names, { id: taskId, historyLength: 10 }, { version });
    outputs.push(JSON.stringify(shown));
    const folder = dirname(sqlite.file);
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    expect(files.join("")).toContain("used_token");
    const texts = [...files, ...host.lines, ...outputs];
    for (const part of tokens.flatMap((token) => token.split(".").slice(1)))
      expect(texts.filter((text) => text.includes(part))).toEqual([]);
  });
});

describe("the headers", () => {
  /** node:http sends repeated headers as they are. */
  async function send(url: string, body: string, headers: string[]) {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const all = ["host", new URL(url).host, "content-type", "application/json", ...headers];
    const sent = request(url, { method: "POST", headers: all }, async (response) => {
      const { result, error } = JSON.parse(Buffer.concat(await response.toArray()).toString());
      resolve(result?.status ?? error?.data.reason);
    });
    sent.end(body);
    return promise;
  }

  it.each<[string, string, (token: string) => string[]]>([
    ["one in upper case", "success", (token) => ["SEKISHO-ASKER", token]],
    [
      "two of the same",
      "asker_unverified",
      (token) => ["Sekisho-Asker", token, "Sekisho-Asker", token],
    ],
    [
      "a wrong one, then the right one",
      "asker_unverified",
      (token) => ["Sekisho-Asker", "x", "sekisho-asker", token],
    ],
    [
      "the right one and a wrong bearer",
      "success",
      (token) => ["Sekisho-Asker", token, "Authorization", "Bearer x"],
    ],
    [
      "a wrong one and the right bearer",
      "asker_unverified",
      (token) => ["Sekisho-Asker", "x", "Authorization", `Bearer ${token}`],
    ],
    [
      "the same token in both",
      "success",
      (token) => ["Sekisho-Asker", token, "Authorization", `Bearer ${token}`],
    ],
    [
      "two bearers, the first one wrong",
      "asker_unverified",
      (token) => ["Authorization", "Bearer x", "Authorization", `Bearer ${token}`],
    ],
  ])(
    "decide on a platform that authenticates callers, as AgentCore does: %s",
    async (_name, outcome, headers) => {
      const { host } = createTestHost({
        authenticator: createPlatformAuthenticator(),
        asker: zone.asker(),
      });
      const server = await startExecutionServer({ host, port: 0, platformPrincipal: "agentcore" });
      closeAfterTest(server);
      for (const path of ["/", "/invocations"]) {
        const body = executeBody();
        const token = await zone.token({ user: "UKIM", body });
        expect([path, await send(`${server.url}${path}`, body, headers(token))]).toEqual([
          path,
          outcome,
        ]);
      }
    },
  );

  it("take the bytes of a Function URL's body, in base64 or as text", async () => {
    const { host } = createTestHost({
      authenticator: createPlatformAuthenticator(),
      asker: zone.asker(),
    });
    const handle = handleFunctionUrlRequests({ host, callers: [callerRoleArn] });
    for (const isBase64Encoded of [true, false]) {
      const text = executeBody({ ...hello, text: "税関 ☃ é" });
      const token = await zone.token({ user: "UKIM", body: text });
      const body = isBase64Encoded ? Buffer.from(text).toString("base64") : text;
      const more = { [askerHeader]: token };
      const event = functionUrlEvent({ body, isBase64Encoded, more });
      expect((await handle(event)).statusCode).toBe(200);
      expect((await handle(event)).statusCode).toBe(403);
    }
  });
});
