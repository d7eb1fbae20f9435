/** The completion push: wakes the task it means, and can do nothing else. */
import { describe, expect, it } from "@jest/globals";
import { waitOf } from "@sekisho/verification/task/polls.ts";
import { collectLog } from "../../../doubles/collect-log.ts";
import type { MaybeFault } from "../../../world/faults.ts";
import { createWorld, runWorld } from "../../../world/world.ts";
import { play, woken } from "../../task/play.ts";
import { sampleAsk } from "../../task/sample.ts";

const ask = sampleAsk();
const pushOf = (requestId: string, taskId = "t-1") =>
  JSON.stringify({ request_id: requestId, task_id: taskId });

async function waitingWorld(pollsUntilDone: number) {
  const world = await runWorld({ pollsUntilDone }, { maxSteps: 1 });
  expect(world.taskOf(ask)?.state).toBe("waiting");
  world.pass(5000);
  return world;
}

describe("a completion push", () => {
  it("a completion push brings the answer before the next poll and leaves one chain of wake-ups", async () => {
    const world = await waitingWorld(1);
    expect(await world.push(pushOf(ask.requestId))).toBe(1);
    expect(world.answers()).toEqual(["A checkpoint."]);
    const calls = world.calls();
    await world.run();
    expect(world.calls()).toBe(calls);
    expect(world.posts).toHaveLength(1);
    expect(world.taskOf(ask)).toMatchObject({ state: "done", cleanupDone: true });
  });

  /** Its worker died at that operation of the delivery, and the lease is over by now. */
  async function deadWorld(name: string, options: Parameters<typeof createWorld>[0] = {}) {
    let dies = false;
    const fault = (operation: { name: string }): MaybeFault =>
      dies && operation.name === name && "dies_before";
    const world = await runWorld({ pollsUntilDone: 1, ...options, fault }, { maxSteps: 1 });
    world.pass(5000);
    world.loseMessages();
    dies = true;
    await expect(world.push(pushOf(ask.requestId))).rejects.toThrow("interrupted");
    dies = false;
    // As its queue has it: not before the lease is over.
    world.pass(90_000);
    return world;
  }

  it("handles a push again after its worker died in the delivery", async () => {
    const world = await deadWorld("update");
    expect(world.taskOf(ask)?.state).toBe("delivering");
    expect(await world.push(pushOf(ask.requestId, "t-2"))).toBe(0);
    expect(world.answers()).toEqual([]);
    await world.push(pushOf(ask.requestId));
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.posts).toHaveLength(1);
  });

  it("leaves a wake-up for the end of the lease if the step of a push failed", async () => {
    let writes = Number.NEGATIVE_INFINITY;
    const world = await runWorld(
      // The store can be reached until the delivery is to begin.
      {
        pollsUntilDone: 1,
        fault: ({ name }) => name === "replace" && writes++ === 1 && "refused",
      },
      { maxSteps: 1 },
    );
    world.pass(5000);
    world.loseMessages();
    writes = 0;
    const pushedAtMs = world.now();
    await expect(world.push(pushOf(ask.requestId))).rejects.toThrow("interrupted");
    await world.run({ until: () => world.answers().length > 0 });
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.now() - pushedAtMs).toBeLessThan(61_000);
    await world.run();
    expect(world.starts).toHaveLength(1);
    expect(world.posts).toHaveLength(1);
  });

  it("drops a push for an unknown task, another task id, a finished task, or with a malformed body", async () => {
    const world = await waitingWorld(1);
    const other = "00000000-0000-5000-8000-00000000000f";
    const forgedPushes = [
      pushOf(other),
      pushOf(ask.requestId, "t-2"),
      "{",
      "null",
      JSON.stringify({ type: "ask", requestId: other }),
      JSON.stringify({ type: "cancel", requestId: ask.requestId }),
    ];
    for (const body of forgedPushes) expect(await world.push(body)).toBe(0);
    await world.run();
    expect(await world.push(pushOf(ask.requestId))).toBe(0);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("ignores a push while the host cannot be reached or the task is being canceled", async () => {
    let isAway = false;
    const world = await runWorld(
      {
        pollsUntilDone: 1000,
        fault: ({ party }) => isAway && party === "host" && "refused",
      },
      { maxSteps: 1 },
    );
    isAway = true;
    await world.run({ maxSteps: 1 });
    world.pass(5000);
    const taskCopy = structuredClone(world.taskOf(ask));
    await world.push(pushOf(ask.requestId));
    expect(world.taskOf(ask)).toEqual(taskCopy);
    world.cancel(ask.requestId);
    await world.handleDue();
    const ending = structuredClone(world.taskOf(ask));
    expect(ending?.cancelReason).toBe("asked");
    world.pass(5000);
    await world.push(pushOf(ask.requestId));
    expect(world.taskOf(ask)).toEqual(ending);
  });

  it("polls at most once a second for any number of pushes", async () => {
    const world = await waitingWorld(1000);
    const callCount = world.calls();
    for (let i = 0; i < 50; i++) await world.push(pushOf(ask.requestId));
    expect(world.calls() - callCount).toBe(1);
    world.pass(1000);
    await world.handleDue();
    expect(world.calls() - callCount).toBe(2);
    world.pass(1000);
    expect(await world.push(pushOf(ask.requestId))).toBe(1);
  });
});

it("polls as soon as a second has passed since the last poll", async () => {
  const world = await runWorld({ pollsUntilDone: 1000, pollAfterMs: 60_000 }, { maxSteps: 1 });
  world.pass(5000);
  await world.push(pushOf(ask.requestId));
  const callCount = world.calls();
  world.pass(600);
  await world.push(pushOf(ask.requestId));
  expect(world.calls()).toBe(callCount);
  world.pass(400);
  await world.handleDue();
  expect(world.calls()).toBe(callCount + 1);
});

it("keeps the gap after a large answer for any number of pushes", async () => {
  const world = await waitingWorld(1000);
  const task = world.taskOf(ask);
  if (task === undefined) throw new Error("the task has no record");
  world.changeTask(ask, {
    wait: { ...waitOf(task), polledAtMs: world.now(), minPollGapMs: 20_000 },
  });
  const callsBefore = world.calls();
  world.pass(15_000);
  for (let i = 0; i < 50; i++) await world.push(pushOf(ask.requestId));
  expect(world.calls() - callsBefore).toBe(0);
});

const hoursMs = 3600_000;

/** A task that has just been polled, and so old that the next poll is minutes away; that one finds it done. */
async function oldWorld() {
  const polls = 50;
  const recordOf = () => world.taskOf(ask);
  const isAfter = (times: number) =>
    recordOf()?.wait?.polls === times && recordOf()?.lease === undefined;
  const world = createWorld({ pollsUntilDone: polls + 1, policy: { deadlineMs: 8 * hoursMs } });
  await world.deliver(ask).run({ until: () => isAfter(polls) });
  expect((recordOf()?.wait?.nextPollAtMs ?? 0) - world.now()).toBeGreaterThan(60_000);
  return { world, polledAtMs: world.now(), calls: world.calls() };
}

describe("a completion push that comes too early", () => {
  it("polls again soon if a push comes too early, even if the next poll is minutes away", async () => {
    const { world, polledAtMs, calls } = await oldWorld();
    for (const _ of [1, 2, 3]) expect(await world.push(pushOf(ask.requestId))).toBe(0);
    await world.run({ until: () => world.answers().length > 0 });
    expect(world.now() - polledAtMs).toBeLessThan(5000);
    await world.run();
    expect(world.calls() - calls).toBe(1);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("polls a second later for a push that comes before the acceptance is stored", async () => {
    let sentAtMs: number | undefined;
    const world = createWorld({
      pollsUntilDone: 1,
      pollAfterMs: 60_000,
      async fault({ name }): Promise<undefined> {
        if (name !== "execute_task" || sentAtMs !== undefined) return;
        sentAtMs = world.now();
        await world.push(pushOf(ask.requestId));
      },
    });
    await world.deliver(ask).run({ until: () => world.answers().length > 0 });
    expect(world.now() - (sentAtMs ?? 0)).toBeLessThan(5000);
    await world.run();
    expect(world.starts).toHaveLength(1);
    expect(world.posts).toHaveLength(1);
    expect(world.doubled()).toBe(0);
  });

  it("delivers the answer at once for a push that comes while a worker polls", async () => {
    const polls = 50;
    let gets = 0;
    let pushResult: number | undefined;
    const { log, entries } = collectLog();
    const world = createWorld({
      log,
      pollsUntilDone: polls,
      policy: { deadlineMs: 8 * hoursMs },
      async fault({ name }): Promise<undefined> {
        if (name === "get_task" && ++gets === polls)
          pushResult = await world.push(pushOf(ask.requestId));
      },
    });
    await world.deliver(ask).run({ until: () => pushResult !== undefined });
    expect(pushResult).toBe(1);
    expect(world.answers()).toEqual(["A checkpoint."]);
    await world.run();
    expect(world.posts).toHaveLength(1);
    expect(world.doubled()).toBe(0);
    // Both workers have seen the answer, and one of them has taken it.
    const answeredEntries = entries().filter(
      ({ event, state }) => event === "answered" && state === "delivering",
    );
    expect(answeredEntries).toHaveLength(1);
  });
});

describe("completion pushes to a task that a worker holds", () => {
  /** A worker polls, and the host does not answer before the lease is over. Resolves to the messages that were sent meanwhile. */
  async function heldWorld({ times, processes }: { times: number; processes: number }) {
    const world = await waitingWorld(1);
    const record = world.taskOf(ask);
    if (record === undefined) throw new Error("the task has no record");
    const untilMs = world.now() + 60_000;
    record.lease = { owner: "another", untilMs };
    const sendCount = world.sends();
    for (let i = 0; i < processes; i++) await world.push(pushOf(ask.requestId), { times });
    await world.run({ until: () => world.now() > untilMs });
    return { world, sends: world.sends() - sendCount };
  }

  it("keeps one repeated link per process for pushes to a leased task, and the answer arrives", async () => {
    const one = await heldWorld({ times: 1000, processes: 1 });
    expect(one.sends).toBeLessThanOrEqual(12);
    const five = await heldWorld({ times: 200, processes: 5 });
    expect(five.sends).toBeLessThanOrEqual(45);
    await five.world.run();
    expect(five.world.answers()).toEqual(["A checkpoint."]);
  });

  it("keeps a push whose link could not be sent", async () => {
    let isAway = true;
    const world = createWorld({
      pollsUntilDone: 1000,
      fault: ({ party, name }) => isAway && party === "queue" && name === "send" && "refused",
    });
    isAway = false;
    await world.deliver(ask).run({ maxSteps: 1 });
    world.changeTask(ask, { lease: { owner: "another", untilMs: world.now() + 60_000 } });
    const worker = world.worker();
    const body = pushOf(ask.requestId);
    const sendCount = world.sends();
    isAway = true;
    await expect(worker.completion({ body })).rejects.toThrow("out of reach");
    isAway = false;
    await worker.completion({ body });
    expect(world.sends() - sendCount).toBe(1);
  });
});

describe("a completion push after a poll that found no slot", () => {
  it("polls a second later for a push after a poll that found no slot", async () => {
    const world = await waitingWorld(1);
    const record = world.taskOf(ask);
    if (record === undefined) throw new Error("the task has no record");
    const nowMs = world.now();
    const polledTask = play([woken, { type: "busy", delayMs: 60_000 }], {
      task: { ...record, wait: { ...waitOf(record), nextPollAtMs: nowMs - 10 } },
    });
    world.loseMessages();
    world.records.set(ask.requestId, {
      ...polledTask.task,
      wait: { ...waitOf(polledTask.task), polledAtMs: nowMs },
      revision: record.revision,
    });
    expect(await world.push(pushOf(ask.requestId))).toBe(0);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });
});
