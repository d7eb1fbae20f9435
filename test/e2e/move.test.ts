/** Execution moves to another cloud: one name in the configuration file changes while tasks are under way, and no secret is stored for it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "@jest/globals";
import { loadConfig } from "@sekisho/config/load.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import {
  type Authenticator,
  createNoneAuthenticator,
} from "@sekisho/execution/authenticator/authenticator.ts";
import { createWebIdentityAuthenticator } from "@sekisho/execution/authenticator/web-identity.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { openFakeSlack } from "@sekisho/local/both-zones.ts";
import type { PostedByFakePerson } from "@sekisho/local/fake-slack/persons.ts";
import { openSlackInstallation } from "@sekisho/local/slack-installation.ts";
import { startVerificationZone } from "@sekisho/local/verification-zone.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import { createDestinations } from "@sekisho/verification/destinations.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { startAgentCoreStub } from "../doubles/agentcore-stub.ts";
import { roleArn, startAwsSts } from "../doubles/issuers/aws-sts.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { createMemoryTaskStore } from "../world/records.ts";

const region = "eu-central-1";
const runtimeArn = `arn:aws:bedrock-agentcore:${region}:123456789012:runtime/agent-abc123`;
const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret-of-this-test" };
const audience = "https://agents.example/";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  delete process.env.AWS_ENDPOINT_URL_STS;
});

function hostWith(authenticator: Authenticator) {
  const lines: string[] = [];
  const log = createLog({ service: "execution", level: "info", write: (line) => lines.push(line) });
  const store = createMemoryTaskStore({ parse: parseExecutionTask });
  const host = createHost({
    agent: createEchoAgent(),
    store,
    authenticator,
    syncBudgetMs: 200,
    log,
  });
  closing.push(() => host.stop({ graceMs: 0 }));
  return {
    host,
    started: (id: string) =>
      lines.some((line) => line.includes("task_started") && line.includes(id)),
  };
}

/** AgentCore in front of a host, an endpoint elsewhere that believes nobody but the issuer of the account, and a port where nobody listens. */
async function startPlaces() {
  const sts = await startAwsSts({ credentials, region });
  closing.push(sts.close);
  process.env.AWS_ENDPOINT_URL_STS = sts.url.href;
  const runtime = hostWith(createNoneAuthenticator());
  const handle = (request: Request) =>
    runtime.host.handle(
      new Request("http://127.0.0.1/invocations", {
        ...request,
        method: "POST",
        headers: request.headers,
        body: request.body,
        duplex: "half",
      } as RequestInit),
    );
  const agentcore = await startAgentCoreStub({ handle, runtimeArn, credentials });
  closing.push(agentcore.close);
  const elsewhere = hostWith(
    createWebIdentityAuthenticator({ issuer: sts.tokens.url, audience, roles: [roleArn] }),
  );
  const server = await startExecutionServer({ host: elsewhere.host, port: 0 });
  closing.push(server.close);
  const gone = await startWebServer({ handle: async () => new Response() });
  await gone.close();
  return {
    sts,
    runtime,
    agentcore,
    elsewhere,
    elsewhereUrl: `${server.url}/`,
    goneUrl: `${gone.url}/`,
  };
}

function configFile(json: object): { folder: string; edit(from: string, to: string): void } {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-move-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "sekisho.config.json");
  writeFileSync(file, JSON.stringify(json, null, 2));
  return {
    folder,
    edit(from, to) {
      const text = readFileSync(file, "utf8");
      expect(text.split(from)).toHaveLength(2);
      writeFileSync(file, text.replace(from, to));
    },
  };
}

/** The Verification zone as the file has it by now, on the tasks that are there. */
async function startZone({
  folder,
  slack,
}: {
  folder: string;
  slack: Awaited<ReturnType<typeof openFakeSlack>>["slack"];
}) {
  const config = loadConfig({ directory: folder });
  const tasks = new Map<string, Task>();
  const secrets: string[] = [];
  const destinations = createDestinations({
    config,
    readSecret: async (reference) => {
      secrets.push(JSON.stringify(reference));
      throw new Error("there is no secret");
    },
    botTokenOf: slack.botToken,
    credentials: async () => credentials,
    region,
    log: silentLog,
  });
  const { botToken, apiUrl, ...side } = slack;
  const zone = await startVerificationZone({
    config,
    openEngine: () => openSqliteEngine({ file: join(folder, "verification.db") }),
    dataFolder: folder,
    port: 0,
    ...side,
    installation: openSlackInstallation({
      config,
      dataFolder: folder,
      botToken,
      apiUrl,
      log: silentLog,
    }),
    slackApiUrl: apiUrl,
    destinations,
    observe: ({ requestId, task }) => void tasks.set(requestId, task),
    log: silentLog,
  });
  const close = async () => {
    await zone.close();
    for (const { client } of destinations.values()) await client.close();
  };
  closing.push(close);
  const until = async ({ requestId }: PostedByFakePerson, state: Task["state"]) => {
    while (tasks.get(requestId)?.state !== state)
      await new Promise((resolve) => setTimeout(resolve, 20));
    return tasks.get(requestId);
  };
  return { eventsUrl: `${zone.url}/slack/events`, until, secrets, close };
}

const limits = { callTimeoutMs: 3000, leaseMs: 4000, visibilityTimeoutMs: 5000 };

it("moves to another destination by one edit, without losing a running task", async () => {
  const { sts, runtime, agentcore, elsewhere, elsewhereUrl } = await startPlaces();
  const { folder, edit } = configFile({
    destinations: {
      runtime: { transport: "agentcore", runtimeArn, endpoint: agentcore.endpoint },
      elsewhere: {
        transport: "https",
        url: elsewhereUrl,
        authorizer: { type: "web-identity", audience },
        idempotent: true,
      },
    },
    routes: [{ destination: "runtime" }],
    limits,
  });
  const { fakeSlack, slack } = await openFakeSlack({ log: silentLog });
  closing.push(() => fakeSlack.close());

  const before = await startZone({ folder, slack });
  const early = ["slow 2s one", "slow 2s two"].map((text) =>
    fakeSlack.ask({ eventsUrl: before.eventsUrl, text }),
  );
  for (const post of early) await before.until(post, "waiting");
  await before.close();
  edit('"destination": "runtime"', '"destination": "elsewhere"');
  const after = await startZone({ folder, slack });
  const late = fakeSlack.ask({ eventsUrl: after.eventsUrl, text: "three" });

  for (const post of [...early, late]) {
    expect((await after.until(post, "done"))?.outcome?.type).toBe("answer");
    const answers = fakeSlack.thread(post.message).filter(({ ts }) => ts !== post.message.ts);
    expect(answers).toHaveLength(1);
  }
  expect(
    early.map(({ requestId }) => [runtime.started(requestId), elsewhere.started(requestId)]),
  ).toEqual([
    [true, false],
    [true, false],
  ]);
  expect([runtime.started(late.requestId), elsewhere.started(late.requestId)]).toEqual([
    false,
    true,
  ]);
  expect(sts.inputs).toEqual([
    { Audience: [audience], SigningAlgorithm: "RS256", DurationSeconds: "300" },
  ]);
  expect([...before.secrets, ...after.secrets]).toEqual([]);
  expect(agentcore.problems).toEqual([]);
});

it("fails over to the next destination of the route if nothing listens at the first", async () => {
  const { elsewhere, elsewhereUrl, goneUrl } = await startPlaces();
  const authorizer = { type: "web-identity", audience };
  const { folder } = configFile({
    destinations: {
      gone: { transport: "https", url: goneUrl, authorizer },
      elsewhere: { transport: "https", url: elsewhereUrl, authorizer },
    },
    routes: [{ destination: ["gone", "elsewhere"] }],
    limits,
  });
  const { fakeSlack, slack } = await openFakeSlack({ log: silentLog });
  closing.push(() => fakeSlack.close());
  const zone = await startZone({ folder, slack });
  const post = fakeSlack.ask({ eventsUrl: zone.eventsUrl, text: "Is anybody there?" });
  expect(await zone.until(post, "done")).toMatchObject({
    call: { destination: "elsewhere" },
    outcome: { type: "answer" },
  });
  expect(elsewhere.started(post.requestId)).toBe(true);
});
