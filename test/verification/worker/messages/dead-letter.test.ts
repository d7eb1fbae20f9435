import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { queueMessageSchema } from "@sekisho/verification/task/messages.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { deaths, nthFault } from "../../../world/faults.ts";
import { createWorld, runWorld } from "../../../world/world.ts";
import { sampleAsk } from "../../task/sample.ts";
import { sampleClick } from "../sample-click.ts";

const ask = sampleAsk();
const failure = '{"type":"failed","reason":"ambiguous","lost":false}';

/** Messages that are handled until a task is sent (and accepted), and polled once. */
const stepsToAccept = 1;
const stepsToPoll = 2;

/** Past its deadline, and the time after it in which the host may still say so itself. */
const tooLateMs = 16 * 60_000;

async function deadLetteredAfter(
  maxSteps: number,
  {
    afterMs = tooLateMs,
    ...options
  }: Parameters<typeof createWorld>[0] & { afterMs?: number } = {},
) {
  const world = await runWorld({ pollsUntilDone: 5, ...options }, { maxSteps });
  world.pass(afterMs);
  await world.deadLetterAll();
  return world;
}

describe("a dead letter of a task at work", () => {
  it("fails the task in its record, then cancels it at the host, and only then reports it in the thread", async () => {
    for (const steps of [stepsToAccept, stepsToPoll]) {
      const world = await deadLetteredAfter(steps);
      const callCount = world.calls();
      expect(world.cancels).toEqual([]);
      await world.run({ maxSteps: 1 });
      expect(world.calls()).toBe(callCount + 1);
      expect(world.cancels).toEqual([
        {
          params: { task_id: "t-1", reason: "undeliverable" },
          recordedAs: "delivering",
          answers: 0,
        },
      ]);
      await world.run();
      expect(world.answers()).toEqual([failure]);
      expect(world.posts).toHaveLength(1);
    }
  });

  it("cancels a task at most once and reports it, even if the worker dies while canceling", async () => {
    for (const fault of deaths) {
      let failuresLeft = 1;
      const world = await deadLetteredAfter(stepsToPoll, {
        fault: ({ name }) => name === "cancel_task" && failuresLeft-- > 0 && fault,
      });
      await world.run();
      expect(world.cancels).toHaveLength(fault === "dies_before" ? 0 : 1);
      expect(world.answers()).toEqual([failure]);
    }
  });

  it("reports a dead letter once even if its handler dies at any operation", async () => {
    for (const fault of deaths) {
      for (let nth = 0; nth < 6; nth++) {
        let isOn = false;
        const world = await runWorld(
          { pollsUntilDone: 5, fault: nthFault(nth, fault, () => isOn) },
          { maxSteps: stepsToPoll },
        );
        world.pass(tooLateMs);
        isOn = true;
        await world.deadLetterAll();
        await world.run();
        expect({ fault, nth, answers: world.answers() }).toEqual({
          fault,
          nth,
          answers: [failure],
        });
        expect(world.posts).toHaveLength(1);
        expect(world.archive.length).toBeGreaterThan(0);
      }
    }
  });

  it("stores a dead letter before it changes anything, and leaves the task unchanged if that fails", async () => {
    const world = await runWorld({ pollsUntilDone: 5 }, { maxSteps: stepsToPoll });
    const taskCopy = structuredClone(world.taskOf(ask));
    await expect(
      world.deadLetterNext({ keep: () => Promise.reject(new Error("the archive is away")) }),
    ).rejects.toThrow("away");
    expect(world.taskOf(ask)).toEqual(taskCopy);
  });

  it("stores a dead letter for an operator", async () => {
    const world = await deadLetteredAfter(stepsToPoll);
    expect(world.archive.map((body) => JSON.parse(body))).toEqual([
      { type: "wake", requestId: ask.requestId, seq: 1, polls: 1 },
    ]);
  });
});

describe("a dead letter of a task that asks", () => {
  const questions = [{ prompt: "Shall I?", options: [{ id: "yes", label: "Yes" }] }];
  const { channel, user, team } = ask.message;
  const button = { type: "answer", question: 0, option: 0 } as const;

  it("asks a question later if its first post became a dead letter", async () => {
    const isAsking = () => world.taskOf(ask)?.state === "asking";
    let isAway = true;
    const world = createWorld({
      questions,
      fault: ({ name }) => isAway && isAsking() && name === "post" && "refused",
    });
    await world.deliver(ask).run({ until: isAsking });
    await world.deadLetterAll();
    isAway = false;
    expect(world.questions()).toEqual([]);
    await world.run({ until: () => world.questions().length > 0 });
    await world.clickButton(sampleClick(button, { atMs: world.now() })).run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.cancels).toEqual([]);
  });

  it("stores a dead letter of a click without an effect, and drops that of an opened conversation", async () => {
    const world = createWorld({ questions });
    await world.deliver(ask).run({ until: () => world.questions().length > 0 });
    const wakes = world.loseMessages();
    expect(wakes).toBe(1);
    world.clickButton(sampleClick(button, { atMs: world.now() }));
    const conversation = { requestId: ask.requestId, team, channel, user };
    world.interact({ type: "conversation_opened", ...conversation });
    await world.deadLetterAll();
    expect(world.archive.map((body) => JSON.parse(body).type)).toEqual(["button_click"]);
    expect(world.taskOf(ask)?.question?.answer).toBeUndefined();
  });
});

describe("a dead letter", () => {
  it("cancels nothing at the host for a task that was never sent", async () => {
    let isAway = true;
    const world = await deadLetteredAfter(1, {
      fault: ({ party }) => isAway && party === "slack" && "refused",
    });
    isAway = false;
    await world.run();
    expect(world.starts).toEqual([]);
    expect(world.cancels).toEqual([]);
    expect(world.answers()).toEqual(['{"type":"failed","reason":"internal","lost":false}']);
  });

  it("still cancels the task after a dead letter of a cancel, and stores the message", async () => {
    const world = await runWorld(
      { pollsUntilDone: 10_000, cancelable: true },
      { maxSteps: stepsToAccept },
    );
    world.cancel(ask.requestId);
    await world.deadLetterAll();
    expect(world.cancels).toEqual([]);
    await world.run();
    expect(world.archive.map((body) => JSON.parse(body).type).sort()).toEqual(["cancel", "wake"]);
    expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
  });

  it("continues a delivery soon after a dead letter of a cancel whose workers died", async () => {
    let dies = false;
    const world = createWorld({
      cancelable: true,
      questions: [{ prompt: "Shall I?", options: [{ id: "yes", label: "Yes" }] }],
      fault: ({ name }) => dies && world.cancels.length > 0 && name === "update" && "dies_before",
    });
    const record = () => world.taskOf(ask);
    await world
      .deliver(ask)
      .run({ until: () => record()?.question?.ts !== undefined && record()?.lease === undefined });
    // The next wake-up is due when the question expires.
    expect(world.loseMessages()).toBe(1);
    dies = true;
    await world.cancel(ask.requestId).run({ maxSteps: 5 });
    expect(record()).toMatchObject({ state: "delivering", outcome: { reason: "canceled" } });
    await world.deadLetterAll();
    dies = false;
    await world.run();
    expect(world.archive.map((body) => JSON.parse(body).type)).toEqual(["cancel"]);
    expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
    expect(record()).toMatchObject({ state: "done", cleanupDone: true });
  });

  it("stores a malformed dead letter", async () => {
    const world = createWorld();
    world.deliver({ nonsense: true } as never);
    await world.deadLetterAll();
    expect(world.archive).toEqual(['{"nonsense":true}']);
  });

  it("drops a dead letter of a finished link, since nothing is lost with it", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.deliver(ask).run({ maxSteps: 1 });
    await world.deadLetterAll();
    expect(world.archive.map((body) => JSON.parse(body).type)).toEqual(["wake"]);
  });

  it("stores a message that cannot be recorded once and keeps retrying it for a week", async () => {
    let isDown = true;
    const world = await runWorld(
      { fault: ({ name }) => isDown && name === "create" && "refused" },
      { maxSteps: 3 },
    );
    for (let round = 0; round < 3; round++) await world.deadLetterAll();
    expect(world.archive).toEqual([JSON.stringify(ask)]);
    isDown = false;
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);

    const dayMs = 24 * 3600_000;
    const late = createWorld();
    late.deliver({ ...ask, receivedAtMs: ask.receivedAtMs - 2 * dayMs });
    await late.deadLetterAll();
    await late.run();
    expect(late.archive).toHaveLength(1);
    expect(late.answers()).toEqual([expect.stringContaining("too_old")]);

    const givenUpWorld = createWorld();
    givenUpWorld.deliver({ ...ask, receivedAtMs: ask.receivedAtMs - 8 * dayMs });
    await givenUpWorld.deadLetterAll();
    await givenUpWorld.run();
    expect(givenUpWorld.archive).toHaveLength(1);
    expect(givenUpWorld.posts).toEqual([]);
  });
});

describe("a redrive", () => {
  it("a redrive continues a task without a wake-up from any state to one answer of one run", async () => {
    for (let steps = 1; steps < longest; steps++) {
      const world = await runWorld({ pollsUntilDone: 3 }, { maxSteps: steps });
      world.loseMessages();
      await world.redrive(ask.requestId).run();
      expect({ steps, answers: world.answers() }).toEqual({ steps, answers: ["A checkpoint."] });
      expect(world.posts).toHaveLength(1);
      expect(world.starts).toHaveLength(1);
      expect(world.taskOf(ask)).toMatchObject({ state: "done", cleanupDone: true });
    }
  });

  it("a redrive doubles nothing if the task still has its wake-up, at any moment", async () => {
    for (let steps = 0; steps < 12; steps++) {
      const world = await runWorld({ pollsUntilDone: 3 }, { maxSteps: steps });
      world.redrive(ask.requestId);
      world.redrive(ask.requestId);
      await world.runTwiceAtOnce();
      await world.run();
      expect({ steps, answers: world.answers() }).toEqual({ steps, answers: ["A checkpoint."] });
      expect(world.posts).toHaveLength(1);
      expect(world.starts).toHaveLength(1);
      expect(world.doubled()).toBe(0);
    }
  });

  it("a redrive repeats the delivery of a task that has ended and posts only missing parts", async () => {
    const story = () => ({ status: "success", response_text: "one|two" }) as const;
    for (const isDeleted of [true, false]) {
      const world = createWorld({ story });
      world.deliver(ask);
      while (world.taskOf(ask)?.state !== "done") await world.run({ maxSteps: 1 });
      if (isDeleted) world.deletePosts();
      await world.redrive(ask.requestId).run();
      expect(world.answers()).toEqual(["one", "two"]);
      expect(world.posts).toHaveLength(2);
      expect(world.starts).toHaveLength(1);
    }
  });

  it("a redrive repeats the delivery of a failure even after the cleanup", async () => {
    const world = await runWorld({ pollsUntilDone: 5 }, { maxSteps: 3 });
    world.pass(16 * 60_000);
    await world.deadLetterAll();
    await world.run();
    expect(world.taskOf(ask)).toMatchObject({ state: "done", cleanupDone: true });
    const answersBefore = world.answers();
    world.deletePosts();
    await world.redrive(ask.requestId).run();
    expect(world.answers()).toEqual(answersBefore);
    expect(world.posts).toHaveLength(1);
  });

  it("a redrive changes nothing once the texts are erased", async () => {
    const world = await runWorld();
    await world.redrive(ask.requestId).run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.posts).toHaveLength(1);
  });

  it("a redrive waits while a worker holds the task", async () => {
    let sends = 0;
    const world = createWorld({
      fault: async ({ name }): Promise<undefined> => {
        if (name !== "execute_task" || sends++ > 0) return;
        world.redrive(ask.requestId);
        await world.handleDue();
      },
    });
    await world.deliver(ask).run();
    expect(sends).toBe(1);
    expect(world.groups).toStrictEqual(new Set([`${ask.message.team}/host`]));
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("drops a redrive of an unknown task and stores one that is a dead letter", async () => {
    const world = createWorld();
    await world.redrive(ask.requestId).run();
    expect(world.posts).toEqual([]);

    await world.deliver(ask).run({ maxSteps: 2 });
    const taskCopy = structuredClone(world.taskOf(ask));
    world.loseMessages();
    world.redrive(ask.requestId);
    await world.deadLetterAll();
    expect(world.archive).toHaveLength(1);
    expect(world.taskOf(ask)).toEqual(taskCopy);
  });

  it("a redrive continues after its dead letter if its workers died in the delivery", async () => {
    let dies = false;
    const world = createWorld({
      pollsUntilDone: 5,
      fault: ({ name }) => dies && name === "post" && "dies_before",
    });
    await world.deliver(ask).run({ maxSteps: 3 });
    world.pass(16 * 60_000);
    await world.deadLetterAll();
    await world.run();
    expect(world.taskOf(ask)).toMatchObject({ state: "done", cleanupDone: true });
    world.deletePosts();
    dies = true;
    await world.redrive(ask.requestId).run({ maxSteps: 5 });
    await world.deadLetterAll();
    dies = false;
    await world.run();
    expect(world.answers()).toEqual([failure]);
    expect(world.taskOf(ask)).toMatchObject({ state: "done", cleanupDone: true });
  });

  it("a redrive continues an asking task before its question is posted, while it is open, and afterwards", async () => {
    const options = [{ id: "yes", label: "Yes" }];
    for (let steps = 1; steps < 3; steps++) {
      const world = await runWorld(
        { pollsUntilDone: 1, questions: [{ prompt: "Shall I?", options }] },
        { maxSteps: steps },
      );
      world.loseMessages();
      world.redrive(ask.requestId);
      const question = () => world.taskOf(ask)?.question;
      await world.run({ until: () => question()?.ts !== undefined });
      const button = { type: "answer", question: 0, option: 0 } as const;
      world.clickButton(sampleClick(button, { atMs: world.now() }));
      await world.run({ until: () => question()?.answer !== undefined });
      world.loseMessages();
      await world.redrive(ask.requestId).run();
      expect({ steps, texts: world.posts.map(({ text }) => text) }).toEqual({
        steps,
        texts: ["Shall I? U1: 0", "A checkpoint."],
      });
      expect(world.replies).toHaveLength(1);
      expect(world.doubled()).toBe(0);
    }
  });
});

const longest = 8;

function recordIn(world: ReturnType<typeof createWorld>): Task {
  const record = world.taskOf(ask);
  if (record === undefined) throw new Error("There is no record yet.");
  return structuredClone(record);
}

/** A task that has taken so many steps, with its record at that moment. */
async function taskAfter(steps: number, settings: Parameters<typeof createWorld>[0] = {}) {
  const world = await runWorld({ pollsUntilDone: 3, ...settings }, { maxSteps: steps });
  return { world, record: recordIn(world) };
}

describe("the message that docs/how-to/restore.md shows", () => {
  it("the message in docs/how-to/restore.md is a redrive", () => {
    const page = readFileSync(join(__dirname, "../../../../docs/how-to/restore.md"), "utf8");
    const [, body = ""] = /aws sqs send-message .*--message-body '(.+)'/.exec(page) ?? [];
    const message = queueMessageSchema.parse(JSON.parse(body.replace("REQUEST_ID", ask.requestId)));
    expect(message).toEqual({ type: "redrive", requestId: ask.requestId });
  });
});

describe("a record that is restored as it was earlier, after its answer", () => {
  const story = () => ({ status: "success", response_text: "one|two" }) as const;

  it("a restored record leads to one post of each part and to one run at a host that deduplicates", async () => {
    for (let steps = 1; steps < longest; steps++) {
      const { world, record } = await taskAfter(steps, { story });
      await world.run();
      world.records.set(ask.requestId, record);
      await world.redrive(ask.requestId).run();
      expect({ steps, answers: [...world.answers()].sort() }).toEqual({
        steps,
        answers: ["one", "two"],
      });
      expect(world.starts).toHaveLength(1);
    }
  });

  it("a restored record of an unsent task runs the agent again at a host that does not deduplicate", async () => {
    let record: Task | undefined;
    const world = createWorld({
      story,
      idempotent: false,
      fault({ name }) {
        if (name === "post") record ??= recordIn(world);
      },
    });
    await world.deliver(ask).run();
    expect(record?.state).toBe("received");
    if (record !== undefined) world.records.set(ask.requestId, record);
    await world.redrive(ask.requestId).run();
    expect(world.starts).toHaveLength(2);
  });
});
