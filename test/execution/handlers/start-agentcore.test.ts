/** The AgentCore entry as a process on loopback, with its tasks in an emulated table. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { maxRequestBytes } from "@sekisho/contracts/methods.ts";
import { readAgentCoreEnvironment } from "@sekisho/execution/config/aws-environment.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import { createClient, type ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { startAgentCoreStub } from "../../doubles/agentcore-stub.ts";
import { emulatorAccess, whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { readPing } from "../../lab/rehearsal/agent-runtime.ts";
import { common } from "../../tables/transport-sample.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { credentials, runtimeArn } from "../../verification/transport/agentcore/sample.ts";
import { type Answer, eventually, hello } from "../test-host.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** The child, and the lines of its log as they come. */
function run(variables: Record<string, string>) {
  const { region, credentials } = emulatorAccess;
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    SEKISHO_HOSTNAME: "127.0.0.1",
    SEKISHO_EXECUTION_PORT: "0",
    ...variables,
  };
  const child = spawn(process.execPath, [resolve(__dirname, "../children/agentcore.ts")], {
    env,
    stdio: ["ignore", "inherit", "pipe"],
  });
  children.push(child);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  return { child, lines, exit: once(child, "exit") };
}

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite(`the AgentCore entry${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let emulators: OpenEmulators;
  let table: string;
  let completionsUrl: string;
  beforeAll(async () => {
    emulators = await openEmulators();
    table = await createTaskTable({ client: emulators.clients.dynamo });
    const { queues: client } = emulators.clients;
    ({ queueUrl: completionsUrl } = await createQueuePair({ client, maxReceiveCount: 3 }));
  });
  afterAll(() => emulators.close());

  async function start({ maxLifetimeSeconds = "1800", options = "", env = {} } = {}) {
    const { dynamo, queues } = emulators.emulators;
    const { child, lines, exit } = run({
      SEKISHO_TABLE: table,
      SEKISHO_COMPLETIONS_URL: completionsUrl,
      SEKISHO_MAX_LIFETIME_SECONDS: maxLifetimeSeconds,
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      AWS_ENDPOINT_URL_SQS: queues.endpoint,
      NODE_OPTIONS: options,
      ...env,
    });
    await eventually(() => lines.some((line) => line.includes("server_listens")));
    const { address: url } = JSON.parse(
      lines.find((line) => line.includes("server_listens")) ?? "{}",
    );
    async function invoke(method: string, params: unknown, id: string = randomUUID()) {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}/invocations`, { method: "POST", body, headers });
      return { status: response.status, ...((await response.json()) as Answer) };
    }
    return {
      child,
      exit,
      url,
      lines,
      invoke,
      ping: async () => Object(await (await fetch(`${url}/ping`)).json()),
    };
  }

  it("refuses a task that would outlast the session of the platform", async () => {
    const { invoke } = await start({ maxLifetimeSeconds: "30" });
    const id = randomUUID();
    const refusal = {
      status: 200,
      error: { code: -32077, data: { reason: "session_ending", retryable: true } },
    };
    expect(await invoke("execute_task", hello, id)).toMatchObject(refusal);
    const younger = await start();
    expect(
      (await younger.invoke("execute_task", { ...hello, timeout_ms: 28 * 60_000 }, id)).result,
    ).toBeDefined();
  });

  const snapshotOption = `--require ${resolve(__dirname, "../children/snapshot.cjs")}`;

  it("draws nothing random before its first call, because sessions share the snapshot", async () => {
    const { lines, invoke, ping } = await start({ options: snapshotOption });
    await ping();
    await ping();
    const listDraws = () => lines.filter((line) => line.startsWith("DRAWN"));
    expect(listDraws()).toEqual([]);
    expect((await invoke("execute_task", hello)).result?.status).toBe("accepted");
    await eventually(() => listDraws().some((line) => line.startsWith("DRAWN randomUUID")));
    // Node keeps random bytes for the next ids, and a snapshot would keep them too.
    expect(
      listDraws().filter((line) => line.startsWith("DRAWN randomUUID") && !line.endsWith("true")),
    ).toEqual([]);
  });

  it("counts its lifetime from its first call, not from the start of the snapshot's process", async () => {
    const { invoke } = await start({ options: snapshotOption });
    expect(
      (await invoke("execute_task", { ...hello, timeout_ms: 28 * 60_000 })).result,
    ).toBeDefined();
  });

  it("finishes the tasks of both people when one agent leaves uncaught errors", async () => {
    const env = { AGENT_FILE: resolve(__dirname, "../agents/files/leaves-errors.ts") };
    const { invoke, child, lines } = await start({ env });
    const texts = ["steady", "careless"];
    const acceptances = await Promise.all(
      texts.map((text) => invoke("execute_task", { channel: "C1", text })),
    );
    const endResults = await Promise.all(
      acceptances.map(({ result }) =>
        invoke("get_task", { task_id: result?.task_id, wait_ms: 10_000 }),
      ),
    );
    expect(endResults.map(({ result }) => result?.response_text)).toEqual([
      "steady: done",
      "careless: done",
    ]);
    expect(lines.filter((line) => line.includes("agent_error_uncaught"))).toHaveLength(3);
    expect(child.exitCode).toBeNull();
  });

  it("keeps the agent's value for another process of the same conversation", async () => {
    const env = { AGENT_FILE: resolve(__dirname, "../agents/files/remembers.ts") };
    const session_id = "s-".padEnd(40, "1");
    const answers: unknown[] = [];
    for (const text of ["one", "two"]) {
      const { invoke } = await start({ env });
      const { result } = await invoke("execute_task", { ...hello, text, session_id });
      const name = { task_id: result?.task_id, wait_ms: 10_000 };
      answers.push((await invoke("get_task", name)).result?.response_text);
    }
    expect(answers).toEqual(["before: undefined", "before: one"]);
  });

  it("prints its address, runs tasks, and reports itself busy meanwhile", async () => {
    const { url, invoke, ping } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const idle = await ping();
    expect(idle).toEqual({ status: "Healthy", time_of_last_update: expect.any(Number) });
    expect(readPing({ answer: idle, nowMs: Date.now() })).toEqual({
      isBusy: false,
      changedAtMs: expect.any(Number),
    });
    const acceptance = await invoke("execute_task", { ...hello, text: "slow 400ms" });
    expect(acceptance.result?.status).toBe("accepted");
    // Half of the shortest idle time that a stage may have. A caller obeys a longer advice, and the session would idle out.
    expect(acceptance.result?.poll_after_ms).toBeLessThanOrEqual(30_000);
    // The double of AgentCore keeps a session alive for this answer.
    expect(readPing({ answer: await ping(), nowMs: Date.now() })).toMatchObject({ isBusy: true });
    const endResult = await invoke("get_task", {
      task_id: acceptance.result?.task_id,
      wait_ms: 10_000,
    });
    expect(endResult.result?.response_text).toContain("slow 400ms");
    await eventually(async () => (await ping()).status === "Healthy");
  });

  it("serves neither A2A nor another dialect, regardless of the configuration", async () => {
    const { url, invoke } = await start();
    for (const method of ["SendMessage", "message/send", "GetTask"])
      expect(await invoke(method, {})).toMatchObject({ status: 200, error: { code: -32601 } });
    expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(404);
    for (const path of ["/a2a", "/vapora"])
      expect((await fetch(`${url}${path}`, { method: "POST", body: "{}" })).status).toBe(404);
    expect((await invoke("execute_task", hello)).result?.status).toBe("accepted");
  });

  describe("as a runtime of the protocol A2A", () => {
    const runtimeUrl =
      "https://bedrock-agentcore.eu-central-1.amazonaws.com/runtimes/x/invocations";

    /** The server behind the platform, and our clients of both protocols to it. */
    async function startA2a(env: Record<string, string> = {}) {
      const server = await start({ env: { PROTOCOL: "A2A", ...env } });
      const stub = await startAgentCoreStub({
        protocol: "A2A",
        runtimeArn,
        credentials,
        async handle(request) {
          const { pathname } = new URL(request.url);
          const { method, headers } = request;
          const body = method === "GET" ? null : await request.text();
          return fetch(`${server.url}${pathname}`, { method, headers, body });
        },
      });
      closeAfterTest(stub);
      const carrier = closeAfterTest(
        createAgentCoreTransport({
          runtimeArn,
          endpoint: stub.endpoint,
          credentials: async () => credentials,
        }),
      );
      const a2a = createA2aTransport({ carrier });
      const clientOf = (transport: Transport, dialect: "zone" | "a2a") =>
        createClient({
          transport,
          destination: { name: "own", dialect, idempotent: true, callTimeoutMs: 20_000 },
          log: silentLog,
        });
      return {
        ...server,
        stub,
        a2a,
        overA2a: clientOf(a2a, "a2a"),
        overContract: clientOf(carrier, "zone"),
      };
    }

    /** Runs a task to its end. */
    async function runTask(client: ExecutionClient, text: string) {
      const id = randomUUID();
      const call = { ...common, requestId: id, timeoutMs: 20_000 };
      const params = { channel: "C1", text };
      let result = await client.call({ ...call, method: "execute_task", params, id });
      while (result.status === "accepted") {
        const { task_id } = result;
        result = await client.call({
          ...call,
          method: "get_task",
          params: { task_id },
          id: randomUUID(),
        });
      }
      return result;
    }

    it("answers A2A and the contract through InvokeAgentRuntime, without the header of the version", async () => {
      const { overA2a, overContract, stub, lines } = await startA2a();
      expect(await runTask(overA2a, "hello")).toMatchObject({ status: "success" });
      expect(await runTask(overContract, "hello")).toMatchObject({ status: "success" });
      expect(stub.problems).toEqual([]);
      expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    });

    it("answers refused calls with the status 200, whose body the platform leaves alone", async () => {
      const { overA2a, overContract, url } = await startA2a();
      const call = { ...common, id: randomUUID() };
      const params = { task_id: randomUUID() };
      for (const client of [overA2a, overContract])
        await expect(client.call({ ...call, method: "get_task", params })).rejects.toMatchObject({
          reason: "task_not_found",
        });
      const bodies = ["{", '{"jsonrpc":"2.0","id":1,"method":"SendMessage"}'];
      for (const body of [...bodies, " ".repeat(maxRequestBytes + 1)]) {
        const headers = { "content-type": "application/json" };
        const response = await fetch(`${url}/`, { method: "POST", body, headers });
        expect([response.status, await response.json()]).toEqual([
          200,
          expect.objectContaining({ error: expect.anything() }),
        ]);
      }
    });

    it("lists no tasks, because the platform does not say whose they are", async () => {
      const { url } = await startA2a();
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} });
      const headers = { "content-type": "application/json", "a2a-version": "1.0" };
      const response = await fetch(`${url}/`, { method: "POST", body, headers });
      expect(await response.json()).toMatchObject({ error: { code: -32004 } });
    });

    it("names the runtime's endpoint on the card, and no scheme of other places", async () => {
      const { a2a, url } = await startA2a({
        AGENTCORE_RUNTIME_URL: runtimeUrl,
        SEKISHO_RUNTIME_ENDPOINT: "live",
      });
      const headers = { "a2a-version": "1.0" };
      const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json();
      expect(card).toMatchObject({
        supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
          url: `${runtimeUrl}?qualifier=live`,
          protocolVersion,
        })),
        capabilities: { streaming: true, pushNotifications: false },
      });
      expect(card).not.toHaveProperty("securitySchemes");
      expect(await a2a.describe?.({ sessionId: common.sessionId, signal: hangSignal() })).toEqual({
        name: "Sekisho",
        url: runtimeArn,
        version: "1.0",
      });
    });
  });

  it("finishes and pushes its task on SIGTERM, and another process answers from the record", async () => {
    const first = await start();
    const id = randomUUID();
    const acceptance = await first.invoke(
      "execute_task",
      { ...hello, text: "slow 400ms", callback: true },
      id,
    );
    expect(acceptance.result?.status).toBe("accepted");
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    const { Messages: completionMessages = [] } = await emulators.clients.queues.send(
      new ReceiveMessageCommand({ QueueUrl: completionsUrl }),
    );
    expect(completionMessages.map(({ Body = "" }) => JSON.parse(Body))).toEqual([
      { request_id: id, task_id: acceptance.result?.task_id },
    ]);
    const second = await start();
    const { result } = await second.invoke("get_task", { request_id: id });
    expect(result?.response_text).toContain("slow 400ms");
  });
});

describe("the environment of the AgentCore entry", () => {
  const variables = {
    SEKISHO_TABLE: "t",
    SEKISHO_COMPLETIONS_URL: "https://sqs.eu-west-1.amazonaws.com/1/c",
    SEKISHO_MAX_LIFETIME_SECONDS: "28800",
  };

  it.each([...Object.keys(variables), "AWS_REGION"])(
    "exits with 1 and names the missing variable %s",
    async (name) => {
      const { lines, exit } = run({ ...variables, [name]: "" });
      expect(await exit).toEqual([1, null]);
      await eventually(() => lines.join("\n").includes(name));
    },
  );

  it("refuses a lifetime that is not a whole number of seconds", () => {
    const wrong = { ...variables, AWS_REGION: "eu-central-1", SEKISHO_MAX_LIFETIME_SECONDS: "8h" };
    expect(() => readAgentCoreEnvironment(wrong)).toThrow(/SEKISHO_MAX_LIFETIME_SECONDS/);
  });

  it("listens on every interface at port 8080 as the platform requires", () => {
    const { hostname, port } = readAgentCoreEnvironment({
      ...variables,
      AWS_REGION: "eu-central-1",
    });
    expect([hostname, port]).toEqual(["0.0.0.0", 8080]);
  });

  it.each([
    [{}, undefined],
    [{ AGENTCORE_RUNTIME_URL: "not a url" }, undefined],
    [
      { AGENTCORE_RUNTIME_URL: "https://a.example/runtimes/arn%3Aaws/invocations" },
      "https://a.example/runtimes/arn%3Aaws/invocations",
    ],
    [
      {
        AGENTCORE_RUNTIME_URL: "https://a.example/runtimes/arn%3Aaws/invocations?qualifier=DEFAULT",
        SEKISHO_RUNTIME_ENDPOINT: "live",
      },
      "https://a.example/runtimes/arn%3Aaws/invocations?qualifier=live",
    ],
  ])("reads the address of the runtime from %j", (address, runtimeUrl) => {
    const environment = readAgentCoreEnvironment({
      ...variables,
      AWS_REGION: "eu-central-1",
      ...address,
    });
    expect(environment.runtimeUrl).toBe(runtimeUrl);
  });
});
