/** What the image starts, asks and reads, also as an A2A agent: the bundled files alone in a folder, as a process. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { AgentCard } from "@sekisho/contracts/a2a/card.ts";
import type { A2aTask, StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { readContainerEnvironment } from "@sekisho/execution/config/container-environment.ts";
import { type JwksIssuer, startJwksIssuer } from "../../doubles/issuers/jwks.ts";
import { startOtlpCollector } from "../../doubles/otlp-collector.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { dataOf, userMessage } from "../a2a/a2a-host.ts";
import { hello } from "../test-host.ts";
import {
  bundleContainer,
  type Containers,
  dockerfile,
  healthText,
  type Started,
  startText,
} from "./bundled-container.ts";

let issuer: JwksIssuer;
let containers: Containers;

const accepting = () => ({
  type: "jwt",
  issuers: [{ issuer: issuer.issuer, audience: "agents", subjects: ["verifier"] }],
});

const token = () => issuer.sign({ aud: "agents", sub: "verifier" });

beforeAll(async () => {
  issuer = await startJwksIssuer();
  const execution = { agent: "echo", syncBudgetMs: 100, authenticator: accepting() };
  containers = await bundleContainer({
    config: { execution, allowlist: [{ team: "TOFVERIFICATION" }] },
  });
});

afterAll(async () => {
  await issuer.close();
  containers.remove();
});

afterEach(() => containers.clear());

describe("the image", () => {
  it("runs as an unprivileged user and contains no code of the Verification zone", () => {
    expect(dockerfile).toMatch(/^USER 65532:65532$/m);
    const names = readdirSync(containers.out).sort();
    const files = ["agent.cjs", "aws-credentials.cjs", "config.json", "server.cjs"];
    expect(names).toEqual(["THIRD-PARTY-NOTICES.txt", ...files]);
    for (const name of names)
      expect(readFileSync(join(containers.out, name), "utf8")).not.toContain("TOFVERIFICATION");
  });

  it("runs tasks only for allowed callers with a token of its issuer", async () => {
    const { call, said } = await containers.start();
    const { result } = await call(
      "execute_task",
      { ...hello, text: "hi" },
      { bearer: await token() },
    );
    expect(result?.response_text).toContain("hi");
    expect(await call("execute_task", hello)).toMatchObject({
      status: 401,
      error: { data: { reason: "unauthenticated" } },
    });
    const stranger = await issuer.sign({ aud: "agents", sub: "stranger" });
    expect(await call("execute_task", hello, { bearer: stranger })).toMatchObject({ status: 403 });
    expect(said()).not.toContain("every_caller_is_let_in");
    // A bundle has other names for classes than a person knows.
    const late = await issuer.sign({ aud: "agents", sub: "verifier", exp: 1 });
    expect(await call("execute_task", hello, { bearer: late })).toMatchObject({ status: 401 });
    expect(said()).toContain('"cause_kind":"ERR_JWT_EXPIRED"');
  });

  it("ignores a .env file, which belongs to a developer's machine", async () => {
    const folder = containers.emptyFolder();
    writeFileSync(join(folder, ".env"), "SEKISHO_LOG_LEVEL=nonsense\n");
    await containers.start({ folder });
    const { said, exit } = containers.run(startText, {
      folder,
      env: { SEKISHO_LOG_LEVEL: "nonsense" },
    });
    expect((await exit)[0]).not.toBe(0);
    expect(said()).toContain("SEKISHO_LOG_LEVEL");
  });

  it("reports its health over HTTP and through its own health check", async () => {
    const { url, folder, child, exit } = await containers.start();
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
    const env = { PORT: new URL(url).port, SEKISHO_HOSTNAME: "0.0.0.0" };
    expect(await containers.run(healthText, { folder, env }).exit).toEqual([0, null]);
    child.kill("SIGTERM");
    await exit;
    const check = containers.run(healthText, { folder, env });
    expect([await check.exit, check.said()]).toEqual([
      [1, null],
      expect.stringContaining("does not answer"),
    ]);
  });

  it("exits with one line when the configuration in its folder is broken", async () => {
    const folder = containers.emptyFolder();
    writeFileSync(join(folder, "config.json"), '{ "execution": ');
    const { exit, said } = containers.run(startText, { folder });
    expect(await exit).toEqual([1, null]);
    expect(said()).toMatch(/^\S+config\.json is not JSON\. .*\n$/);
  });

  it("finishes its task on SIGTERM, exits with 0, and knows the result after a restart", async () => {
    const first = await containers.start();
    const id = randomUUID();
    const acceptance = await first.call(
      "execute_task",
      { ...hello, text: "slow 500ms" },
      { id, bearer: await token() },
    );
    expect(acceptance.result?.status).toBe("accepted");
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    expect(readdirSync(first.folder)).toContain("execution.db");
    const second = await containers.start({ folder: first.folder });
    const { result } = await second.call("get_task", { request_id: id }, { bearer: await token() });
    expect(result?.response_text).toContain("slow 500ms");
  });

  it("keeps an agent's value over a restart", async () => {
    const agent = resolve(import.meta.dirname, "../agents/files/remembers.ts");
    const own = await bundleContainer({ config: { execution: { agent, syncBudgetMs: 15_000 } } });
    const folder = own.emptyFolder();
    const session_id = "s-".padEnd(40, "1");
    const answers: unknown[] = [];
    for (const text of ["one", "two"]) {
      const { call, child, exit } = await own.start({ folder });
      answers.push((await call("execute_task", { text, session_id })).result?.response_text);
      child.kill("SIGTERM");
      await exit;
    }
    await own.clear();
    own.remove();
    expect(answers).toEqual(["before: undefined", "before: one"]);
  });

  it("exports its last spans before it exits on SIGTERM", async () => {
    const collector = closeAfterTest(await startOtlpCollector());
    const telemetry = { traces: { exporter: { type: "otlp", url: collector.url } } };
    const { call, child, exit } = await containers.start(containers.withConfig({}, { telemetry }));
    await call("execute_task", hello);
    child.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
    expect(collector.spans()).toContainEqual(expect.objectContaining({ name: "execute_task" }));
  });
});

describe("a configuration file", () => {
  it("replaces the bundled configuration with a file whose tokens are variables", async () => {
    const { folder, env } = containers.withConfig({
      authenticator: { type: "bearer", tokens: [{ env: "HOST_TOKEN" }] },
    });
    const bearer = "a-token-of-this-test-alone";
    const { call } = await containers.start({ folder, env: { ...env, HOST_TOKEN: bearer } });
    expect((await call("execute_task", hello, { bearer })).result?.status).toBe("success");
    expect((await call("execute_task", hello, { bearer: await token() })).status).toBe(401);
  });

  it("accepts every caller behind a platform and logs that it does", async () => {
    const { call, said } = await containers.start(
      containers.withConfig({ authenticator: { type: "platform" } }),
    );
    expect((await call("execute_task", hello)).result?.status).toBe("success");
    expect(said()).toContain('"message":"every_caller_is_let_in"');
  });

  const everywhere = { SEKISHO_HOSTNAME: "" };
  it.each<[string, unknown, Record<string, string>, RegExp]>([
    [
      "that admits any caller on every interface",
      {},
      everywhere,
      /^Anyone could run tasks on 0\.0\.0\.0: .*"none"/,
    ],
    [
      "with another agent than the bundle's",
      { agent: "./mine.ts" },
      {},
      /execution\.agent must be "echo"/,
    ],
    [
      "with missing secrets",
      {
        authenticator: {
          type: "bearer",
          tokens: [{ env: "TOKEN_A" }, { secretsManager: "token-b" }],
        },
      },
      {},
      /TOKEN_A is not set[\s\S]*token-b from Secrets Manager/,
    ],
    [
      "whose token could be guessed",
      { authenticator: { type: "bearer", tokens: [{ env: "HOST_TOKEN" }] } },
      { HOST_TOKEN: "hunter2" },
      /^(?![\s\S]*hunter2)[\s\S]*HOST_TOKEN is shorter than 20 characters/,
    ],
    ["with problems", { authenticator: { type: "jwt" } }, {}, /execution\.authenticator\.issuers/],
    [
      "and variables with problems",
      {},
      { PORT: "http", SEKISHO_LOG_LEVEL: "loud" },
      /PORT: [\s\S]*SEKISHO_LOG_LEVEL: /,
    ],
    [
      "with a missing signing key of the card",
      { a2a: { signature: { key: { env: "CARD_KEY" }, keyId: "k" } } },
      {},
      /CARD_KEY is not set/,
    ],
    ["and an unknown store", {}, { SEKISHO_STORE: "server.cjs" }, /server\.cjs is not a database/],
  ])("exits with 1 and a reason for a configuration %s", async (_name, execution, more, why) => {
    const { folder, env } = containers.withConfig(execution);
    const { exit, said } = containers.run(startText, { folder, env: { ...env, ...more } });
    expect(await exit).toEqual([1, null]);
    expect(said()).toMatch(why);
    expect(said()).not.toMatch(/^ +at /m);
  });
});

it("listens on every interface at port 8080 unless PORT is set", () => {
  const { hostname, port, store } = readContainerEnvironment({});
  expect({ hostname, port, store }).toEqual({
    hostname: "0.0.0.0",
    port: 8080,
    store: resolve("execution.db"),
  });
  expect(readContainerEnvironment({ PORT: "9000" }).port).toBe(9000);
});

const platform = { type: "platform" };
const everywhere = { SEKISHO_HOSTNAME: "" };

function start(execution: object, more: Record<string, string> = {}): Promise<Started> {
  const { folder, env } = containers.withConfig(execution);
  return containers.start({ folder, env: { ...env, ...more } });
}

function cardOf(url: string): Promise<Response> {
  return fetch(`${url}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } });
}

function post(url: string, method: string, params: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  return fetch(`${url}/a2a`, {
    method: "POST",
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", id: "1", method, params }),
  });
}

async function result<T = A2aTask>(url: string, method: string, params: unknown): Promise<T> {
  return ((await (await post(url, method, params)).json()) as { result: T }).result;
}

describe("a container", () => {
  it("serves A2A at the address in its configuration", async () => {
    const { url } = await start(
      { a2a: { url: "https://agents.example/a2a" }, authenticator: platform },
      everywhere,
    );
    const card = (await (await cardOf(url)).json()) as AgentCard;
    expect(card.supportedInterfaces.map((each) => each.url)).toEqual(
      new Array(2).fill("https://agents.example/a2a"),
    );
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
    const { task } = await result<{ task: A2aTask }>(url, "SendMessage", {
      message: userMessage("hi"),
    });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("serves A2A without a configured address on loopback only", async () => {
    const [near, far] = await Promise.all([
      start({}),
      start({ authenticator: platform }, everywhere),
    ]);
    const card = (await (await cardOf(near.url)).json()) as AgentCard;
    expect(card.supportedInterfaces[0]?.url).toBe(`${near.url}/`);
    expect((await cardOf(far.url)).status).toBe(404);
    expect((await far.call("SendMessage", { message: userMessage("hi") })).error?.code).toBe(
      -32601,
    );
    expect((await far.call("execute_task", hello)).result?.status).toBe("success");
  });

  it("ends its streams on SIGTERM and exits with 0 although a question is open", async () => {
    const { url, child, exit } = await start({});
    const { task } = await result<{ task: A2aTask }>(url, "SendMessage", {
      message: userMessage("ask me"),
    });
    const stream = dataOf(await post(url, "SubscribeToTask", { id: task.id }));
    const { value: first = "{}" } = await stream.next();
    expect((JSON.parse(first) as { result: StreamEvent }).result).toMatchObject({
      task: { id: task.id },
    });
    child.kill("SIGTERM");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(await exit).toEqual([0, null]);
  });
});
