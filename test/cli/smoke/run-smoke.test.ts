/** A smoke test: what it refuses before it sends anything, and the tasks that it cancels when it is interrupted. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { AwsFailure } from "../../../lib/cli/aws/aws-failure.ts";
import { chooseStage } from "../../../lib/cli/aws/stage.ts";
import { routeElsewhere } from "../../../lib/cli/smoke/route-elsewhere.ts";
import { defaultSettings, limitLongTask, runSmoke } from "../../../lib/cli/smoke/run-smoke.ts";
import { storyTexts } from "../../../lib/cli/smoke/run-story.ts";
import { openSlackThread, type SlackThread } from "../../../lib/cli/smoke/slack-thread.ts";
import { parseStored, type TaskZone } from "../../../lib/cli/tasks/stored-task.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { twoAccounts } from "../aws/a-stage.ts";
import { failing, refusing } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";

let entry: WebServer;
let delivered: { text: string; user: string }[] = [];
let status = 200;

/** Called when a delivery has arrived, before it is answered. */
let hold: (request: Request) => Promise<void>;

beforeEach(() => {
  status = 200;
  hold = async () => {};
});

beforeAll(async () => {
  entry = await startWebServer({
    async handle({ request, body }) {
      delivered.push(JSON.parse(Buffer.from(body).toString()).event);
      await hold(request);
      return new Response(null, { status });
    },
  });
});

afterAll(() => entry.close());

/** A task with a record never ends. A task is in `followed` once its story has read its record. */
function smoke({
  signal,
  slack,
  hasRecord = () => true,
  followed = new Set(),
  recordPatienceMs = defaultSettings.recordPatienceMs,
  patienceMs = defaultSettings.patienceMs,
}: {
  signal: AbortSignal;
  slack: SlackThread;
  hasRecord?: () => boolean;
  followed?: Set<string>;
  recordPatienceMs?: number;
  patienceMs?: number;
}) {
  delivered = [];
  const sent: string[] = [];
  const notes: string[] = [];
  const zone = {
    store: {
      async get({ id }: { id: string }) {
        followed.add(id);
        return hasRecord() ? parseStored(sampleTask({ id, state: "waiting" })) : undefined;
      },
    },
    queue: { send: async ({ body }: { body: string }) => void sent.push(body) },
  } as unknown as TaskZone;
  const config = parseConfig({ json: twoAccounts });
  const ended = runSmoke({
    ...chooseStage(config, "prod"),
    config,
    zone,
    slack,
    eventsUrl: entry.url,
    signingSecret: "a-secret",
    channel: "C012AB3CD",
    user: "U012AB3CD",
    settings: { ...defaultSettings, pollMs: 10, recordPatienceMs, patienceMs },
    executionProfile: undefined,
    runDoctor: async () => [],
    note: (text) => void notes.push(text),
    signal,
  });
  return { ended, sent, notes };
}

const bot = { appId: "A1", botUser: "UBOT", team: "T1" };
let posts = 0;

const slack: SlackThread = {
  team: async () => bot.team,
  post: async () => ({ ts: `1800000000.${String(++posts).padStart(6, "0")}`, bot }),
  hasFile: async () => false,
};

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function canceledIds(sent: readonly string[]): string[] {
  const messages = sent.map((body) => JSON.parse(body));
  expect(messages.map(({ type }) => type)).toEqual(sent.map(() => "cancel"));
  return messages.map(({ requestId }) => requestId).sort();
}

describe("a smoke test", () => {
  it("that is interrupted cancels each task that it began", async () => {
    const stop = new AbortController();
    const followed = new Set<string>();
    const { ended, sent } = smoke({ signal: stop.signal, slack, followed });
    await until(() => followed.size === 3);
    stop.abort();
    await expect(ended).rejects.toThrow();
    expect(canceledIds(sent)).toEqual([...followed].sort());
    expect(delivered.map(({ text }) => text).sort()).toEqual([
      "<@UBOT> ask me",
      "<@UBOT> file",
      "<@UBOT> slow 780s",
    ]);
  });

  it("that is interrupted cancels a task that the entry took without a word, where it gets a record", async () => {
    hold = ({ signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    const stop = new AbortController();
    const followed = new Set<string>();
    let reads = 0;
    const { ended, sent, notes } = smoke({
      signal: stop.signal,
      slack,
      followed,
      hasRecord: () => ++reads > 20,
    });
    await until(() => delivered.length === 3);
    stop.abort();
    await expect(ended).rejects.toThrow();
    expect(followed.size).toBe(3);
    expect(canceledIds(sent)).toEqual([...followed].sort());
    expect(notes.filter((text) => text.startsWith("Canceled"))).toHaveLength(3);
  });

  it("that is interrupted does not speak of a task that got neither an answer nor a record", async () => {
    hold = ({ signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    const stop = new AbortController();
    const followed = new Set<string>();
    const hasRecord = () => false;
    const { ended, sent, notes } = smoke({
      signal: stop.signal,
      slack,
      followed,
      hasRecord,
      recordPatienceMs: 50,
    });
    await until(() => delivered.length === 3);
    stop.abort();
    await expect(ended).rejects.toThrow();
    expect(followed.size).toBe(3);
    expect(sent).toEqual([]);
    expect(notes.filter((text) => /cancel/i.test(text))).toEqual([]);
  });

  it("that Slack refuses leaves nothing behind either", async () => {
    const followed = new Set<string>();
    const refused: SlackThread = {
      ...slack,
      async post({ text }) {
        if (!text.includes("file")) return slack.post({ text });
        await until(() => followed.size === 2);
        throw new AwsFailure("Slack refuses chat.postMessage");
      },
    };
    const { ended, sent } = smoke({
      signal: new AbortController().signal,
      slack: refused,
      followed,
    });
    await expect(ended).rejects.toThrow("Slack refuses chat.postMessage");
    expect(canceledIds(sent)).toEqual([...followed].sort());
  });

  it("waits for the record of a task that the entry has just taken, and cancels it then", async () => {
    const stop = new AbortController();
    const followed = new Set<string>();
    let readsAfterStop = 0;
    const hasRecord = () => stop.signal.aborted && ++readsAfterStop > 20;
    const { ended, sent, notes } = smoke({ signal: stop.signal, slack, followed, hasRecord });
    await until(() => followed.size === 3);
    stop.abort();
    await expect(ended).rejects.toThrow();
    expect(canceledIds(sent)).toEqual([...followed].sort());
    expect(notes.filter((text) => text.startsWith("Could not"))).toEqual([]);
  });

  it("says which task it could not cancel, where the entry took it and no record appears", async () => {
    const stop = new AbortController();
    const followed = new Set<string>();
    const hasRecord = () => false;
    const { ended, notes } = smoke({
      signal: stop.signal,
      slack,
      followed,
      hasRecord,
      recordPatienceMs: 50,
    });
    await until(() => followed.size === 3);
    stop.abort();
    await expect(ended).rejects.toThrow();
    const hints = [...followed].map(
      (id) => `Could not cancel ${id}: npx --no-install sekisho tasks cancel ${id}`,
    );
    expect(notes.filter((text) => /cancel/i.test(text)).sort()).toEqual(hints.sort());
  });

  it("cancels the tasks of a group that failed before the next group begins", async () => {
    const stop = new AbortController();
    const sentBefore: number[] = [];
    const atGroup: SlackThread = {
      ...slack,
      async post({ text }) {
        if (/wakes|takes minutes/.test(text)) {
          sentBefore.push(running.sent.length);
          stop.abort();
          throw new AwsFailure("Slack refuses chat.postMessage");
        }
        return slack.post({ text });
      },
    };
    const running = smoke({ signal: stop.signal, slack: atGroup, patienceMs: 50 });
    await expect(running.ended).rejects.toThrow();
    expect(sentBefore[0]).toBe(3);
  });

  it("does not speak of canceling a task that the entry never took", async () => {
    status = 403;
    const stop = new AbortController();
    const followed = new Set<string>();
    const { ended, sent, notes } = smoke({ signal: stop.signal, slack, followed });
    await until(() => notes.some((text) => text.startsWith("long: failed")));
    stop.abort();
    await expect(ended).rejects.toThrow();
    expect(followed.size).toBe(0);
    expect(sent).toEqual([]);
    expect(notes.filter((text) => /cancel [A-Z0-9]|Canceled/.test(text))).toEqual([]);
  });
});

describe("the long task", () => {
  it.each([
    ["20 minutes on AgentCore", {}, { kind: "agentcore" }, 20],
    ["two minutes on Lambda, which has no sessions", {}, { kind: "lambda" }, 2],
    ["half of a short deadline", { deadlineMs: 10 * 60_000 }, { kind: "agentcore" }, 5],
  ])("takes %s", (_title, fields, execution, minutes) => {
    const prod = { ...twoAccounts.stages.prod, execution };
    const destinations = { local: { transport: "https", ...fields } };
    const json = { destinations, routes: [{ destination: "local" }], stages: { prod } };
    const config = parseConfig({ json });
    const { stage } = chooseStage(config, "prod");
    expect(limitLongTask({ settings: defaultSettings, stage, config })).toBe(minutes * 60_000);
  });
});

const { folder, run } = commandsInFolder();

describe("sekisho smoke", () => {
  it.each([
    ["without a channel", ["--stage", "prod", "--user", "U012AB3CD"], "Give --channel"],
    [
      "with a name for a channel",
      ["--stage", "prod", "--channel", "#general", "--user", "U1AB"],
      "Give --channel",
    ],
    ["without a person", ["--stage", "prod", "--channel", "C012AB3CD"], "Give --user"],
    ["without a stage", ["--channel", "C012AB3CD", "--user", "U012AB3CD"], "Give --stage"],
    [
      "of a stage that is not there",
      ["--stage", "dev", "--channel", "C012AB3CD", "--user", "U012AB3CD"],
      "dev",
    ],
    [
      "of a stage with an agent of its own",
      ["--stage", "prod", "--channel", "C012AB3CD", "--user", "U012AB3CD"],
      'needs the agent "echo"',
    ],
  ])("exits with 2 %s", async (_title, args, text) => {
    const config = join(folder, "stage.json");
    writeFileSync(config, JSON.stringify(twoAccounts));
    const ended = await run(["smoke", ...args, "--config", config]);
    expect(ended).toMatchObject(refusing(2, text));
  });

  it("says what a stage without an Execution zone lacks", async () => {
    const config = join(folder, "external.json");
    const stages = { prod: { ...twoAccounts.stages.prod, execution: { kind: "external" } } };
    const destinations = { far: twoAccounts.destinations.far };
    writeFileSync(
      config,
      JSON.stringify({ destinations, routes: [{ destination: "far" }], stages }),
    );
    const args = ["--stage", "prod", "--channel", "C012AB3CD", "--user", "U012AB3CD"];
    const ended = await run(["smoke", ...args, "--config", config]);
    expect(ended).toMatchObject(failing(2, "no Execution zone of its own"));
  });
});

const texts = storyTexts(defaultSettings);

function judged({ team, routes }: { team: string; routes: object[] }) {
  const config = parseConfig({ json: { ...twoAccounts, routes } });
  return routeElsewhere({ config, routes: config.routes, team, channel: "C9", texts });
}

describe("the route of a smoke test", () => {
  const farForOne = [{ team: "T1", destination: "far" }, { destination: "local" }];
  const localForOne = [{ team: "T1", destination: "local" }, { destination: "far" }];

  it.each([
    [
      "is refused where the workspace has a route elsewhere",
      "T1",
      farForOne,
      "to far, which is not",
    ],
    ["is well where another workspace has that route", "T2", farForOne, undefined],
    [
      "is well where only this workspace has a route to the stage's own zone",
      "T1",
      localForOne,
      undefined,
    ],
    ["is refused where only another workspace has one", "T2", localForOne, "to far, which is not"],
    [
      "is refused where no route fits",
      "T2",
      [{ team: "T1", destination: "local" }],
      "leads nowhere",
    ],
    [
      "is well where only a word leads elsewhere",
      "T1",
      [{ word: "far", destination: "far" }, { destination: "local" }],
      undefined,
    ],
  ])("%s", (_title, team, routes, said) => {
    const found = judged({ team, routes });
    if (said === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(said);
  });
});

let slackApi: WebServer;
let error = "";

beforeAll(async () => {
  slackApi = await startWebServer({ handle: async () => Response.json({ ok: false, error }) });
});

afterAll(() => slackApi.close());

describe("a refusal by Slack", () => {
  it.each([
    ["not_in_channel", "Invite it."],
    ["missing_scope", "lacks a scope"],
    ["invalid_auth", "bot token is not valid"],
    ["is_archived", "another channel"],
    ["team_access_not_granted", "says what team_access_not_granted means"],
  ])("%s comes with its remedy", async (name, remedy) => {
    error = name;
    const signal = new AbortController().signal;
    const thread = openSlackThread({
      slack: { apiUrl: `${slackApi.url}/` },
      token: "t",
      channel: "C1",
      signal,
    });
    const failure = await thread.team().catch((thrown: Error) => thrown.message);
    expect(failure).toContain(`(${name})`);
    expect(failure).toContain(remedy);
    expect(String(failure).includes("Invite it")).toBe(name === "not_in_channel");
  });
});
