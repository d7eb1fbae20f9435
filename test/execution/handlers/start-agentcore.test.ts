/** The AgentCore entry as a process on loopback, with its tasks in an emulated table. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { readAgentCoreEnvironment } from "@sekisho/execution/config/aws-environment.ts";
import { emulatorAccess, whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { readPing } from "../../lab/rehearsal/agent-runtime.ts";
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
});
