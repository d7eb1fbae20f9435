/** `sekisho doctor --send`: what it refuses, what it reports, and the tasks that it cancels when it is interrupted. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { AwsFailure } from "@sekisho/sekisho/aws/aws-failure.ts";
import { chooseStage } from "@sekisho/sekisho/aws/stage.ts";
import { runChecks } from "@sekisho/sekisho/doctor/check.ts";
import {
  checkAlarms,
  defaultSettings,
  findObstacle,
  limitLongTask,
  runStories,
} from "@sekisho/sekisho/doctor/send.ts";
import { openSlackThread, type SlackThread } from "@sekisho/sekisho/doctor/stories.ts";
import { checks } from "@sekisho/sekisho/doctor/table.ts";
import type { DeployedStage } from "@sekisho/sekisho/doctor/targets.ts";
import { parseStored, type TaskZone } from "@sekisho/sekisho/tasks/stored-task.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { twoAccounts } from "../aws/a-stage.ts";
import { commandHere, failing } from "../aws/command-here.ts";

let entry: WebServer;
let delivered: string[] = [];
let status = 200;
/** Called when a delivery has arrived, before it is answered. */
let hold: (request: Request) => Promise<void>;

beforeAll(async () => {
  entry = await startWebServer({
    async handle({ request, body }) {
      delivered.push(JSON.parse(Buffer.from(body).toString()).event.text);
      await hold(request);
      return new Response(null, { status });
    },
  });
});
beforeEach(() => {
  delivered = [];
  status = 200;
  hold = async () => {};
});
afterAll(() => entry.close());

const bot = { appId: "A1", botUser: "UBOT", team: "T1" };
let posts = 0;
const slack: SlackThread = {
  post: async () => ({ ts: `1800000000.${String(++posts).padStart(6, "0")}`, bot }),
  hasFile: async () => false,
};

/** A task with a record never ends. A task is in `followed` once its record was looked for. */
function send({
  slack: thread = slack,
  hasRecord = () => true,
  ...settings
}: {
  slack?: SlackThread;
  hasRecord?: () => boolean;
  recordPatienceMs?: number;
  patienceMs?: number;
} = {}) {
  const stop = new AbortController();
  const followedIds = new Set<string>();
  const sentMessages: { type: string; requestId: string }[] = [];
  const notes: string[] = [];
  const store = {
    async get({ id }: { id: string }) {
      followedIds.add(id);
      return hasRecord() ? parseStored(sampleTask({ id, state: "waiting" })) : undefined;
    },
  };
  const queue = {
    send: async ({ body }: { body: string }) => void sentMessages.push(JSON.parse(body)),
  };
  const result = runStories({
    zone: { store, queue } as unknown as TaskZone,
    slack: thread,
    eventsUrl: entry.url,
    signingSecret: "a-secret",
    channel: "C012AB3CD",
    user: "U012AB3CD",
    settings: { ...defaultSettings, pollMs: 10, ...settings },
    note: (text) => void notes.push(text),
    signal: stop.signal,
  });
  async function interrupt(isDue: () => boolean): Promise<void> {
    await until(isDue);
    stop.abort();
    await expect(result).rejects.toThrow();
  }
  const listCanceled = () =>
    sentMessages.map(({ type, requestId }) => (type === "cancel" ? requestId : type)).sort();
  const cancelNotes = () => notes.filter((text) => /cancel [A-Z0-9]|Canceled/.test(text)).sort();
  return {
    ended: result,
    sent: sentMessages,
    notes,
    followedIds,
    interrupt,
    listCanceled,
    cancelNotes,
    signal: stop.signal,
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const holdUntilAborted = ({ signal }: Request) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

describe("an interrupted --send", () => {
  it("cancels each task that it began on an interruption", async () => {
    const { interrupt, followedIds, listCanceled } = send();
    await interrupt(() => followedIds.size === 3);
    expect(listCanceled()).toEqual([...followedIds].sort());
    const texts = ["<@UBOT> ask me", "<@UBOT> file", "<@UBOT> slow 780s"];
    expect(delivered.sort()).toEqual(texts);
  });

  it("waits for the record of a task that the entry has just accepted", async () => {
    let readsAfterStop = 0;
    const run = send({ hasRecord: () => run.signal.aborted && ++readsAfterStop > 20 });
    await run.interrupt(() => run.followedIds.size === 3);
    expect(run.listCanceled()).toEqual([...run.followedIds].sort());
    expect(run.notes.filter((text) => text.startsWith("Could not"))).toEqual([]);
  });

  it("cancels a task whose delivery got no response, once the task has a record", async () => {
    hold = holdUntilAborted;
    let reads = 0;
    const { interrupt, followedIds, listCanceled } = send({ hasRecord: () => ++reads > 20 });
    await interrupt(() => delivered.length === 3);
    expect(listCanceled()).toEqual([...followedIds].sort());
    expect(followedIds.size).toBe(3);
  });

  it("reports nothing about a task that got no record", async () => {
    hold = holdUntilAborted;
    const run = send({ hasRecord: () => false, recordPatienceMs: 50 });
    await run.interrupt(() => delivered.length === 3);
    expect(run.sent).toEqual([]);
    expect(run.cancelNotes()).toEqual([]);
  });

  it("names each task that it could not cancel", async () => {
    const run = send({
      hasRecord() {
        if (run.signal.aborted) throw new AwsFailure("The table does not answer.");
        return true;
      },
    });
    await run.interrupt(() => run.followedIds.size === 3);
    const hints = [...run.followedIds].map(
      (id) => `Could not cancel ${id}: npx --no-install sekisho tasks cancel ${id}`,
    );
    expect(run.cancelNotes()).toEqual(hints.sort());
  });
});

describe("--send", () => {
  it("cancels the tasks that it began if Slack refuses another", async () => {
    const refusing: SlackThread = {
      ...slack,
      async post({ text }) {
        const posted = await slack.post({ text });
        if (!text.includes("file")) return posted;
        await until(() => run.followedIds.size === 2);
        throw new AwsFailure("Slack refuses chat.postMessage");
      },
    };
    const run = send({ slack: refusing });
    await expect(run.ended).rejects.toThrow("Slack refuses chat.postMessage");
    expect(run.listCanceled()).toEqual([...run.followedIds].sort());
  });

  it("cancels the tasks of a group that failed before the next group begins", async () => {
    let canceledBefore = 0;
    const refusing: SlackThread = {
      ...slack,
      async post({ text }) {
        if (!/wakes|takes minutes/.test(text)) return slack.post({ text });
        canceledBefore ||= run.sent.length;
        throw new AwsFailure("Slack refuses chat.postMessage");
      },
    };
    const run = send({ slack: refusing, patienceMs: 50 });
    await expect(run.ended).rejects.toThrow();
    expect(canceledBefore).toBe(3);
  });

  it("reports tasks that the entry refuses, and cancels none", async () => {
    status = 403;
    const { ended: result, sent: sentMessages, followedIds } = send();
    const results = [...(await result).values()].map(({ what }) => what);
    expect(results).toEqual(Array(5).fill("The entry answers HTTP 403."));
    expect([followedIds.size, sentMessages.length]).toEqual([0, 0]);
  });

  it.each([
    ["of 20 minutes on AgentCore", {}, "agentcore", 20],
    ["of two minutes on Lambda, which has no sessions", {}, "lambda", 2],
    ["of half a short deadline", { deadlineMs: 10 * 60_000 }, "agentcore", 5],
  ])("allows a long task %s", (_title, fields, kind, minutes) => {
    const prod = { ...twoAccounts.stages.prod, execution: { kind } };
    const destinations = { local: { transport: "https", ...fields } };
    const json = { destinations, routes: [{ destination: "local" }], stages: { prod } };
    const config = parseConfig({ json });
    const target = chooseStage(config, "prod");
    const longTaskMs = limitLongTask({ settings: defaultSettings, target, config });
    expect(longTaskMs).toBe(minutes * 60_000);
  });

  const ids = ["--channel", "C012AB3CD", "--user", "U012AB3CD"];

  it.each([
    ["a stage", ids, "--send needs --stage"],
    ["a channel's id", ["--stage", "prod", "--channel", "#general", "--user", "U1A"], "--channel"],
    ["all checks", ["--stage", "prod", "--destination", "far", ...ids], "leave out --destination"],
    ["a person's id", ["--stage", "prod", "--channel", "C012AB3CD"], "--user U012AB3CD"],
  ])("requires %s for --send", async (_title, args, text) => {
    expect(await commandHere(["doctor", "--send", ...args], {})).toMatchObject(failing(2, text));
  });

  const toLocal = { destination: "local" };
  const toFar = { destination: "far" };

  it.each<[string, object, string | undefined]>([
    ["its own agent", { execution: twoAccounts.execution }, 'needs the agent "echo"'],
    [
      "no Execution zone",
      {
        stages: { prod: { ...twoAccounts.stages.prod, execution: { kind: "external" } } },
        destinations: { far: twoAccounts.destinations.far },
        routes: [toFar],
      },
      "no Execution zone of its own",
    ],
    ["a route elsewhere", { routes: [{ team: "T1", ...toFar }, toLocal] }, "to far, which is not"],
    ["no matching route", { routes: [{ team: "T2", ...toLocal }] }, "leads nowhere"],
    [
      "a route elsewhere for another workspace",
      { routes: [{ team: "T2", ...toFar }, toLocal] },
      undefined,
    ],
    [
      "a route to an agent by name that is another one",
      {
        execution: { agent: "echo", agents: { ops: "./ops.ts" } },
        routes: [{ team: "T1", destination: "ops" }, toLocal],
      },
      'needs the agent "echo"',
    ],
    [
      "a route to an echo agent by name beside another main agent",
      {
        execution: { agent: "./main.ts", agents: { test: "echo" } },
        routes: [{ team: "T1", destination: "test" }, toLocal],
      },
      undefined,
    ],
    ["a route elsewhere for a prefix", { routes: [{ word: "far", ...toFar }, toLocal] }, undefined],
  ])("checks the route to a stage with %s", async (_title, changes, text) => {
    const config = parseConfig({ json: { ...twoAccounts, execution: {}, ...changes } });
    const target = {
      ...chooseStage(config, "prod"),
      effective: async () => ({ config }),
      bot: async () => ({ state: "accepted", teamId: "T1" }),
    } as unknown as DeployedStage;
    const request = { target, config, channel: "C9", user: "U9", settings: defaultSettings };
    const pattern = await findObstacle({ ...request, note() {} });
    if (text === undefined) expect(pattern).toBeUndefined();
    else expect(pattern).toContain(text);
  });

  it.each([
    ["not_in_channel", "Invite it."],
    ["is_archived", "another channel"],
    ["team_access_not_granted", "says what team_access_not_granted means"],
  ])("explains the error %s of Slack", async (error, remedy) => {
    const api = await startWebServer({ handle: async () => Response.json({ ok: false, error }) });
    const { signal } = new AbortController();
    const options = { apiUrl: `${api.url}/`, token: "t", team: "T1", channel: "C1", signal };
    const posted = openSlackThread(options).post({ text: "hello" });
    await expect(posted).rejects.toThrow(remedy);
    await api.close();
  });
});

describe("the checks after --send", () => {
  it("reports each task by its result", async () => {
    const stories = new Map([
      ["file", { ok: false, what: "No file.", requestId: "r" }],
      ["long", { ok: true, what: "It answered.", requestId: "s" }],
    ] as const);
    const target = { outputs: () => Promise.reject(new Error()) } as unknown as DeployedStage;
    const { signal } = new AbortController();
    const report = await runChecks({
      table: checks,
      targets: { sent: { target, stories } },
      signal,
    });
    expect(
      report.slice(0, 5).map(({ name, status, what }) => `${name} ${status}: ${what}`),
    ).toEqual([
      "question skipped: It was not sent.",
      "file failed: No file. Its id is r.",
      "cancel skipped: It was not sent.",
      "wakes skipped: It was not sent.",
      "long ok: It answered.",
    ]);
  });

  it("names the alarms in the state ALARM", async () => {
    const MetricAlarms = [{ AlarmName: "Sekisho-prod-Verification-WorkerErrors" }];
    const server = await startWebServer({ handle: async () => Response.json({ MetricAlarms }) });
    const credentials = { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "none" };
    const env = { ...process.env, ...credentials, AWS_ENDPOINT_URL: server.url };
    const environment = jest.replaceProperty(process, "env", env);
    const { signal } = new AbortController();
    const stage = chooseStage(parseConfig({ json: twoAccounts }), "prod");
    const target = { ...stage, signal } as unknown as DeployedStage;
    const report = await checkAlarms({ target, stories: new Map() });
    environment.restore();
    await server.close();
    const what = "In ALARM: Sekisho-prod-Verification-WorkerErrors.";
    expect(report).toMatchObject({ status: "failed", what });
  });
});
