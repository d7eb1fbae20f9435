import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { startAgent } from "../doubles/a2a-peer-agent.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { type Process, sekisho } from "./processes.ts";
import { labelsOf, until } from "./world.ts";

const env = {
  SLACK_SIGNING_SECRET: "a-signing-secret-of-this-test",
  SLACK_BOT_TOKEN: "xoxb-a-bot-token-of-this-test",
  SEKISHO_LOG_LEVEL: "debug",
};

let folder: string;
let fakeSlack: FakeSlack;
let running: Process[];
let over: boolean;
let ports: { verification: number; execution: number };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-kill-"));
  fakeSlack = await startFakeSlack({
    signingSecret: env.SLACK_SIGNING_SECRET,
    botToken: env.SLACK_BOT_TOKEN,
  });
  ports = { verification: await freePort(), execution: await freePort() };
  running = [];
  over = false;
  writeConfig({});
});

function writeConfig(more: object): void {
  writeFileSync(
    join(folder, "sekisho.config.json"),
    JSON.stringify({
      slack: { apiUrl: fakeSlack.apiUrl },
      allowlist: [{ team: "TSTANDIN" }],
      execution: { syncBudgetMs: 1000, leaseMs: 1000, lostAfterMs: 500 },
      limits: { callTimeoutMs: 1500, leaseMs: 2000, visibilityTimeoutMs: 2500 },
      ...more,
    }),
  );
}

afterEach(async () => {
  over = true;
  await Promise.all(running.map((process) => process.kill("SIGKILL")));
  await fakeSlack.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(zone: "verification" | "execution"): Promise<Process> {
  const process = sekisho({
    args: [zone, "--port", String(ports[zone])],
    cwd: folder,
    env: { ...env, SEKISHO_EXECUTION_PORT: String(ports.execution) },
  });
  running.push(process);
  await process.prints(zone === "verification" ? "Verification zone:" : "Execution zone:");
  return process;
}

const ask = (text: string) =>
  fakeSlack.ask({ eventsUrl: `http://127.0.0.1:${ports.verification}/slack/events`, text });
const log = () => running.map((process) => process.output()).join("");
const starts = () => log().split('"task_started"').length - 1;

/** Resolves to the texts of the bot in the thread when the task is over (before the sweep, which posts nothing). */
async function answersTo({ message, requestId }: ReturnType<typeof ask>): Promise<string[]> {
  const delivered = () =>
    log()
      .split("\n")
      .some((line) => line.includes(requestId) && line.includes('"event":"delivered"'));
  while (!delivered()) {
    if (over) throw new Error("The test was over before the answer was there.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return fakeSlack
    .thread(message)
    .filter(({ ts }) => ts !== message.ts)
    .map(({ text }) => text);
}

describe("kill -9 during a slow task", () => {
  it.each([
    ["while the call waits for the result", "slow 700ms", 300],
    ["while the task is polled", "slow 4s", 1800],
  ])(
    "answers once and starts the agent once if the Verification zone is killed %s",
    async (_when, text, afterMs) => {
      await start("execution");
      const verification = await start("verification");
      const post = ask(text);
      await running[0]?.prints("task_started");
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await verification.kill("SIGKILL");
      await start("verification");
      const answers = await answersTo(post);
      expect(answers).toHaveLength(1);
      expect(answers[0]).toContain("I'm the echo agent");
      expect(starts()).toBe(1);
    },
  );

  it.each([
    ["while the call waits for the result", "slow 900ms", 300],
    ["while the task is polled", "slow 20s", 1800],
  ])(
    "reports a lost task once and starts the agent once if the Execution zone is killed %s",
    async (_when, text, afterMs) => {
      const execution = await start("execution");
      await start("verification");
      const post = ask(text);
      await execution.prints("task_started");
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await execution.kill("SIGKILL");
      await start("execution");
      const answers = await answersTo(post);
      expect(answers).toHaveLength(1);
      expect(answers[0]).not.toContain("I'm the echo agent");
      expect(starts()).toBe(1);
    },
  );

  it("posts one answer and starts the agent once if both zones are killed", async () => {
    const execution = await start("execution");
    const verification = await start("verification");
    const post = ask("slow 20s");
    await execution.prints("task_started");
    await Promise.all([execution.kill("SIGKILL"), verification.kill("SIGKILL")]);
    await start("execution");
    await start("verification");
    expect(await answersTo(post)).toHaveLength(1);
    expect(starts()).toBe(1);
  });

  it("accepts one reply to a question after both zones were killed", async () => {
    const zones = [await start("execution"), await start("verification")];
    const post = ask("ask me");
    const question = () =>
      fakeSlack.thread(post.message).find((message) => labelsOf(message).includes("Yes"));
    const { channel, ts } = await until(question);
    await Promise.all(zones.map((zone) => zone.kill("SIGKILL")));
    await start("execution");
    await start("verification");
    for (const label of ["Yes", "No"])
      fakeSlack.clickButton({
        eventsUrl: `http://127.0.0.1:${ports.verification}/slack/events`,
        channel,
        ts,
        label,
      });
    const [answered, answer, ...more] = await answersTo(post);
    expect([answered, more]).toEqual([
      expect.stringMatching(/Shall I go on\?\n+.*(Yes|No).*<@UPERSON>/),
      [],
    ]);
    expect(answer).toMatch(/Shall I go on\? (yes|no)/);
    await until(() => fakeSlack.ephemeralMessages().length > 0);
    expect(fakeSlack.ephemeralMessages()).toEqual([
      expect.objectContaining({ user: "UPERSON", text: expect.stringContaining("already") }),
    ]);
  });
});

it("another worker soon takes over after kill -9 in a long call, under the same message id", async () => {
  const { promise: hung, resolve: onHung } = Promise.withResolvers<void>();
  const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Good morning." }] };
  const agent = closeAfterTest(
    await startAgent({
      answer({ method }) {
        if (method !== "SendMessage") return { error: { code: -32601, message: "no such method" } };
        if (agent.calls.length > 1) return { result: { message } };
        onHung();
        return new Promise<Response>(() => {});
      },
    }),
  );
  const foreign = {
    transport: "a2a",
    card: agent.cardUrl,
    idempotent: true,
    callTimeoutMs: 600_000,
  };
  writeConfig({ destinations: { foreign }, routes: [{ destination: "foreign" }] });
  const verification = await start("verification");
  const post = ask("hello");
  await hung;
  // Long enough that the first lease would be over.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect(agent.calls).toHaveLength(1);
  await verification.kill("SIGKILL");
  await start("verification");
  expect((await answersTo(post)).join()).toContain("Good morning.");
  const sentLinks = agent.calls.filter(({ method }) => method === "SendMessage");
  expect(new Set(sentLinks.map(({ params }) => Object(params.message).messageId))).toEqual(
    new Set([post.requestId]),
  );
});

describe("SIGTERM during a slow task", () => {
  it("ends the Execution zone cleanly on SIGTERM, and reports the task as lost", async () => {
    const execution = await start("execution");
    await start("verification");
    const post = ask("slow 20s");
    await execution.prints("task_started");
    expect(await execution.kill("SIGTERM")).toMatchObject({ code: 0 });
    await start("execution");
    expect(await answersTo(post)).toHaveLength(1);
    expect(starts()).toBe(1);
  });

  it("ends the Verification zone cleanly on SIGTERM, and answers after the restart", async () => {
    await start("execution");
    const verification = await start("verification");
    const post = ask("slow 3s");
    await running[0]?.prints("task_started");
    expect(await verification.kill("SIGTERM")).toMatchObject({ code: 0 });
    await start("verification");
    const answers = await answersTo(post);
    expect(answers).toHaveLength(1);
    expect(answers[0]).toContain("I'm the echo agent");
  });
});

it("prints neither a secret nor a text in any process", async () => {
  await start("execution");
  await start("verification");
  await answersTo(ask("a very private question"));
  await answersTo(ask("a private failure: fail"));
  for (const secret of [
    env.SLACK_SIGNING_SECRET,
    env.SLACK_BOT_TOKEN,
    "private",
    "I'm the echo agent",
  ])
    expect(log()).not.toContain(secret);
});
