import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { startAgent } from "../doubles/a2a-peer-agent.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { isReady, openZoneProcesses, type ZoneProcesses } from "../world/zone-processes.ts";
import type { Process } from "./processes.ts";
import { labelsOf, until } from "./world.ts";

let zones: ZoneProcesses;
let running: Process[];
let over: boolean;

beforeEach(async () => {
  zones = await openZoneProcesses();
  running = [];
  over = false;
  configure({});
});

function configure(more: object): void {
  zones.configure({
    allowlist: [{ team: "TSTANDIN" }],
    execution: { syncBudgetMs: 1000, leaseMs: 1000, lostAfterMs: 500 },
    limits: { callTimeoutMs: 1500, leaseMs: 2000, visibilityTimeoutMs: 2500 },
    ...more,
  });
}

afterEach(async () => {
  over = true;
  await zones.close();
});

async function start(zone: "verification" | "execution"): Promise<Process> {
  const process = zones.start(zone);
  running.push(process);
  await isReady(zone, process);
  return process;
}

const ask = (text: string) => zones.fakeSlack.ask({ eventsUrl: zones.eventsUrl, text });
const starts = () => zones.output().split('"task_started"').length - 1;

/** Resolves to the texts of the bot in the thread when the task is over (before the sweep, which posts nothing). */
async function answersTo({ message, requestId }: ReturnType<typeof ask>): Promise<string[]> {
  const isDelivered = () =>
    zones
      .output()
      .split("\n")
      .some((line) => line.includes(requestId) && line.includes('"event":"delivered"'));
  await until(() => over || isDelivered());
  if (over) throw new Error("The test was over before the answer was there.");
  return zones.fakeSlack
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
    const { fakeSlack, eventsUrl } = zones;
    const processes = [await start("execution"), await start("verification")];
    const post = ask("ask me");
    const question = () =>
      fakeSlack.thread(post.message).find((message) => labelsOf(message).includes("Yes"));
    const { channel, ts } = await until(question);
    await Promise.all(processes.map((process) => process.kill("SIGKILL")));
    await start("execution");
    await start("verification");
    for (const label of ["Yes", "No"]) fakeSlack.clickButton({ eventsUrl, channel, ts, label });
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
  configure({ destinations: { foreign }, routes: [{ destination: "foreign" }] });
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
  for (const secret of [...Object.values(zones.secrets), "private", "I'm the echo agent"])
    expect(zones.output()).not.toContain(secret);
});
