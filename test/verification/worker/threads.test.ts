/** Several messages of one thread: executed in order, one at a time. */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";
import { threadSchema } from "@sekisho/verification/task/thread.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "@sekisho/verification/worker/verification-worker.ts";
import { createFaults } from "../../world/faults.ts";
import { worldFiles, worldGate, worldText } from "../../world/people.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { createWorldSlack } from "../../world/slack.ts";
import { createWorld, runWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk, samplePolicy, sampleRoute } from "../task/sample.ts";

const threadTs = `${askedAtMs / 1000}.000001`;

function askOf(n: number, text = `Message ${n}`) {
  return numberedAsk(n, { ts: `${askedAtMs / 1000}.00010${n}`, threadTs, text });
}

/** A world that notes, for each message sent, how many answers the thread shows at that moment. */
function watchedWorld(options: Parameters<typeof createWorld>[0] = {}) {
  const answersAtSend: number[] = [];
  const world = createWorld({
    ...options,
    fault: (operation) => {
      if (operation.name === "execute_task") answersAtSend.push(world.answers().length);
      return options.fault?.(operation);
    },
  });
  return { world, answersAtSend };
}

function historyOf(world: ReturnType<typeof createWorld>, n: number) {
  return world.records.get(askOf(n).requestId)?.history ?? [];
}

describe("messages of one thread", () => {
  it("runs tasks of a thread in order, each after the answer of the one before", async () => {
    const { world, answersAtSend } = watchedWorld({ pollsUntilDone: 3 });
    for (const n of [1, 3, 2]) world.deliver(askOf(n));
    await world.run();
    expect(world.starts).toEqual([1, 2, 3].map((n) => askOf(n).requestId));
    expect(answersAtSend).toEqual([0, 1, 2]);
    expect(world.answers()).toHaveLength(3);
    expect(world.posts).toHaveLength(3);
  });

  it("runs tasks of different threads or of a parallel destination at the same time", async () => {
    const parallel = watchedWorld({ pollsUntilDone: 3, policy: { concurrency: "parallel" } });
    for (const n of [1, 2, 3]) parallel.world.deliver(askOf(n));
    await parallel.world.run();
    expect(parallel.answersAtSend).toEqual([0, 0, 0]);

    const { world, answersAtSend } = watchedWorld({ pollsUntilDone: 3 });
    world.deliver(askOf(1));
    await world
      .deliver({ ...askOf(2), message: { ...askOf(2).message, threadTs: undefined } })
      .run();
    expect(answersAtSend).toEqual([0, 0]);
  });

  it("holds the thread for the deadline, 15 seconds of grace and a minute of delivery", async () => {
    const { world } = watchedWorld({ pollsUntilDone: 3 });
    const isJoined = () => [...world.threads.values()].some(({ tasks }) => tasks.length > 0);
    await world.deliver(askOf(1)).run({ until: isJoined });
    const [place] = [...world.threads.values()].flatMap(({ tasks }) => tasks);
    expect((place?.untilMs ?? 0) - world.now()).toBe(15 * 60_000 + 15_000 + 60_000);
  });

  it("continues with the next task when the one before fails or reaches its deadline", async () => {
    const failing = watchedWorld({
      story: (id) => {
        if (id === askOf(1).requestId) throw new SekishoError("execution_failed");
        return { status: "success", response_text: "Done." };
      },
    });
    for (const n of [1, 2]) failing.world.deliver(askOf(n));
    await failing.world.run();
    expect(failing.world.answers()).toHaveLength(2);

    const stuck = watchedWorld({ pollsUntilDone: 10_000, cancelable: true });
    for (const n of [1, 2]) stuck.world.deliver(askOf(n));
    await stuck.world.run();
    expect(stuck.world.starts).toEqual([1, 2].map((n) => askOf(n).requestId));
    expect(stuck.world.answers().every((answer) => answer.includes('"timeout"'))).toBe(true);
  });

  it("starts the next task as soon as the one before is over", async () => {
    const { world } = watchedWorld({ pollsUntilDone: 3 });
    for (const n of [1, 2]) world.deliver(askOf(n));
    await world.run();
    const overMs = historyOf(world, 1).find(({ state }) => state === "done")?.atMs ?? Number.NaN;
    const begunMs =
      historyOf(world, 2).find(({ event }) => event === "thread_joined")?.atMs ?? Number.NaN;
    expect(begunMs - overMs).toBeLessThan(1000);
  });

  it("waits 75 seconds for an answer that Slack refuses, and then starts the next task", async () => {
    let isAway = false;
    const { world } = watchedWorld({
      pollsUntilDone: 1,
      story: () => {
        isAway = true;
        return { status: "success", response_text: "Done." };
      },
      fault: ({ party, name }) => isAway && party === "slack" && name !== "react" && "refused",
    });
    for (const n of [1, 2]) world.deliver(askOf(n));
    for (let steps = 0; steps < 500 && world.starts.length < 2; steps++)
      await world.run({ maxSteps: 1 });
    expect(world.starts).toHaveLength(2);
    const outcomeMs = historyOf(world, 1).find(({ state }) => state === "delivering")?.atMs ?? 0;
    const turnMs = historyOf(world, 2).find(({ event }) => event === "thread_joined")?.atMs ?? 0;
    const heldMs = turnMs - outcomeMs;
    expect(heldMs).toBeGreaterThanOrEqual(75_000);
    // Until the next look.
    expect(heldMs).toBeLessThan(75_000 + 12_000);
  });

  it("continues if the next task is not notified or the record of the thread is out of reach", async () => {
    for (const name of ["get", "create", "replace", "send"]) {
      for (let at = 0; at < 40; at++) {
        let count = 0;
        const { world, answersAtSend } = watchedWorld({
          fault: (operation) => {
            if (operation.name !== name || operation.party === "slack") return;
            return count++ === at && "dies_after";
          },
        });
        for (const n of [1, 2]) world.deliver(askOf(n));
        await world.run();
        expect(world.answers()).toHaveLength(2);
        // A worker that dies in the delivery is noticed later than the thread waits.
        const outcomeMs =
          historyOf(world, 1).find(({ state }) => state === "delivering")?.atMs ?? 0;
        const begunMs = historyOf(world, 2).find(({ state }) => state === "sent")?.atMs ?? 0;
        if (begunMs - outcomeMs < 75_000) expect(answersAtSend.at(-1)).toBe(1);
        expect(world.starts).toHaveLength(2);
      }
    }
  });

  it("continues a task whose worker died when a thread_free message wakes it", async () => {
    const world = createWorld({
      fault: ({ name }) => name === "execute_task" && isDying && "dies_before",
    });
    let isDying = true;
    const record = () => world.records.get(askOf(1).requestId);
    await world.deliver(askOf(1)).run({ until: () => record()?.state === "sent" });
    isDying = false;
    world.loseMessages();
    world.queueRaw(JSON.stringify({ type: "thread_free", requestId: askOf(1).requestId }));
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("records how many tasks are ahead of a queued one", async () => {
    const world = createWorld({ pollsUntilDone: 2 });
    const recordOf = (n: number) => world.records.get(askOf(n).requestId);
    world.deliver(askOf(1));
    await world.deliver(askOf(2)).run({ until: () => recordOf(2)?.state === "queued" });
    const second = recordOf(2);
    expect(second).toMatchObject({ queuePosition: 1 });
    expect(second?.call?.deadlineAtMs).toBeUndefined();
    await world.run();
    const states = recordOf(2)?.history.map(({ state }) => state);
    expect(states).toEqual([
      "received",
      "queued",
      "announced",
      "sent",
      "waiting",
      "delivering",
      "done",
    ]);
  });
});

const concurrency = 8;
const maxSends = 6;

it("a destination that hangs holds only its own slots, and the tasks of others are answered", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-starvation-"));
  const database = openDatabase({ file: join(folder, "verification.db") });
  const queue = createSqliteQueue({ database, name: "tasks" });
  const store = createSqliteTaskStore({ database, parse: (json) => taskSchema.parse(json) });
  const threadStore = createSqliteTaskStore({
    database,
    parse: (json) => threadSchema.parse(json),
  });
  const answerGiven = Promise.withResolvers<void>();
  let hanging = 0;
  let most = 0;
  const hangs: ExecutionClient = {
    call: ({ signal }) =>
      new Promise((_, reject) => {
        most = Math.max(most, ++hanging);
        signal?.addEventListener("abort", () => reject(new Error("stopped")));
      }),
    close: async () => {},
  };
  const works: ExecutionClient = {
    call: async () => ({ status: "success", response_text: "Here." }) as never,
    close: async () => {},
  };
  const { operate } = createFaults({
    fault: ({ name }) => name === "update" && markAnswered(),
    now: Date.now,
  });
  const process = { isAlive: true };
  let ts = 0;
  const thread = {
    operate,
    now: Date.now,
    newTs: () => `${++ts}.0`,
  };
  function markAnswered(): undefined {
    answerGiven.resolve();
  }
  const destinationOf = (client: ExecutionClient) => ({
    client,
    callTimeoutMs: 30_000,
    maxSends,
    longPollMs: 0,
  });
  const sample = samplePolicy();
  const [policy] = sample.destinations.values();
  if (policy === undefined) throw new Error("the sample has a destination");
  const worker = createVerificationWorker({
    engine: {
      ...openWorkerStores((parse) => createMemoryTaskStore({ parse })),
      store,
      threadStore,
      queue,
    },
    slack: createWorldSlack(thread).api(process),
    gate: worldGate({ operate, process, running: new Set(), rules: {} }),
    files: worldFiles({ operate, process, uploads: [], given: {} }),
    text: worldText,
    policy: {
      ...sample,
      routesOf: ({ channel, text }) => [
        sampleRoute({ text, destinations: [channel === "C1" ? "hangs" : "works"] }),
      ],
      destinations: new Map([
        ["hangs", policy],
        ["works", policy],
      ]),
    },
    destinations: new Map([
      ["hangs", destinationOf(hangs)],
      ["works", destinationOf(works)],
    ]),
    config: parseConfig({
      json: { slack: { reactions: false, streaming: false }, limits: { leaseMs: 60_000 } },
    }),
    log: silentLog,
    newId: randomUUID,
  });
  const stop = new AbortController();
  const loop = runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => worker.handle({ body, signal }),
    concurrency,
    visibilityTimeoutMs: 90_000,
    signal: stop.signal,
    idsOf: readQueuedIds,
    log: silentLog,
    graceMs: 10,
  });
  const say = async (channel: string, n: number) => {
    const ask = sampleAsk({
      channel,
      ts: `${Math.floor(Date.now() / 1000)}.${String(n).padStart(6, "0")}`,
    });
    await queue.send({
      body: JSON.stringify({ ...ask, requestId: randomUUID(), receivedAtMs: Date.now() }),
    });
  };
  for (let n = 0; n < 3 * concurrency; n++) await say("C1", n);
  while (hanging < maxSends) await new Promise((resolve) => setTimeout(resolve, 10));
  await say("C2", 0);
  await answerGiven.promise;
  stop.abort();
  await loop;
  await database.close();
  rmSync(folder, { recursive: true, force: true });
  expect(most).toBe(maxSends);
});

const ask = sampleAsk();

function reply(n: number, message: Partial<UserMessage>) {
  return numberedAsk(n, { unaddressed: true, text: "And in Kyoto?", ...message });
}

describe("a reply in a slash command's thread, where our clock is ahead of Slack's", () => {
  const command = {
    ...sampleAsk({ command: true, ts: `${askedAtMs / 1000 + 60}.000100` }),
    requestId: "00000000-0000-5000-8000-00000000000c",
  };

  async function inItsThread(text: string) {
    const world = createWorld({ pollsUntilDone: 8, cancelable: true });
    await world
      .deliver(command)
      .run({ until: () => world.records.get(command.requestId)?.state === "waiting" });
    const threadTs = world.records.get(command.requestId)?.threadRef?.threadTs ?? "";
    expect(Number(threadTs)).toBeLessThan(Number(command.message.ts));
    await world
      .deliver(reply(1, { threadTs, ts: (Number(threadTs) + 0.5).toFixed(6), text }))
      .run();
    return world;
  }

  it("cancels the task of a command by a reply in its thread if the local clock is ahead", async () => {
    const world = await inItsThread("cancel");
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "asked" } }]);
    expect(world.answers()).toContain('{"type":"canceling","count":1}');
  });

  it("runs a follow-up in the thread of a command if the local clock is ahead", async () => {
    const world = await inItsThread("And in Kyoto?");
    expect(world.sent.map(({ text }) => text)).toEqual([ask.message.text, "And in Kyoto?"]);
    expect(world.answers()).toHaveLength(2);
  });
});

describe("a reply in a thread that was the bot's before replies counted", () => {
  it("ignores an unaddressed reply in a thread from before replies counted", async () => {
    const world = await runWorld();
    const id = `thread:C1/${ask.message.ts}`;
    const thread = world.threads.get(id);
    if (thread === undefined) throw new Error("no thread");
    const { sinceTs: _sinceTs, ...otherFields } = thread;
    world.threads.set(id, otherFields);
    await world
      .deliver(reply(1, { threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 200}` }))
      .run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.records.has(reply(1, {}).requestId)).toBe(false);
  });
});

describe("a reply over a quota", () => {
  it("reports a quota to the writer of a reply only, and continues if Slack refuses that", async () => {
    for (const isTold of [true, false]) {
      let isFirst = true;
      const world = createWorld({
        fault: ({ name }) => name === "postEphemeral" && !isTold && "refused",
        gate: {
          async charge() {
            if (!isFirst) return { by: "channel", retryAtMs: 1_760_000_900_000 };
            isFirst = false;
            return undefined;
          },
        },
      });
      await world.deliver(ask).run();
      const marks = [...world.marks];
      await world
        .deliver(
          reply(1, { threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 200}`, user: "U2" }),
        )
        .run();
      const words = '{"type":"limited","by":"channel","retryAtMs":1760000900000}';
      expect(world.ephemeralMessages.map(({ user, text }) => [user, text])).toEqual(
        isTold ? [["U2", words]] : [],
      );
      expect(world.answers()).toEqual(["A checkpoint."]);
      expect([...world.marks]).toEqual(marks);
      expect(world.starts).toEqual([ask.requestId]);
      expect(world.records.get(reply(1, {}).requestId)).toMatchObject({
        state: "done",
        cleanupDone: true,
        message: { text: "" },
      });
    }
  });
});

describe("a reply in a channel of Slack Connect that mentions somebody", () => {
  const thread = {
    threadTs: ask.message.ts,
    ts: `${askedAtMs / 1000 + 200}`,
    perhapsAddressed: true as const,
  };
  const settings = { policy: { threadReplies: false } };

  it("runs one task if Slack sends both a message and a mention, even with replies switched off", async () => {
    for (const order of ["message first", "mention first"]) {
      const world = await runWorld(settings);
      world.pass(200_000);
      const message = reply(1, thread);
      const mention = {
        ...message,
        message: { ...message.message, unaddressed: undefined, perhapsAddressed: undefined },
      };
      const events = order === "message first" ? [message, mention] : [mention, message];
      for (const event of events) {
        await world.deliver(event).run({ maxSteps: 1 });
      }
      await world.run();
      expect({ order, answers: world.answers() }).toEqual({
        order,
        answers: ["A checkpoint.", "A checkpoint."],
      });
      expect(world.sent).toHaveLength(2);
    }
  });

  it("runs a reply that may be a mention half a minute later", async () => {
    const world = await runWorld();
    world.pass(200_000);
    await world.deliver(reply(1, thread)).run();
    expect(world.answers()).toEqual(["A checkpoint.", "A checkpoint."]);
  });
});
