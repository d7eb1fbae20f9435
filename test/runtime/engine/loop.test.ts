/** The local loop: how many messages it handles at a time, what it does with failures, and how it ends. */

import { setImmediate, setTimeout } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import type { QueueConsumer, ReceivedMessage } from "@sekisho/runtime/engine/ports.ts";
import { createSqliteQueue } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { createVirtualClock } from "../../tables/clock.ts";
import type { Queue } from "../../tables/task-queue.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite/sqlite-file.ts";

const clock = createVirtualClock();
const visibilityTimeoutMs = 60_000;
let sqlite: SqliteFile;
let queue: Queue;
let stop: AbortController;
let startedBodies: string[];

beforeEach(() => {
  sqlite = createSqliteFile();
  queue = createSqliteQueue({ database: sqlite.open(), name: "tasks", now: clock.nowMs });
  stop = new AbortController();
  closeAfterTest({ close: () => stop.abort() });
  startedBodies = [];
});

type LoopOptions = Parameters<typeof runQueueLoop>[0];

function run(options: Partial<LoopOptions> & Pick<LoopOptions, "handle">): Promise<void> {
  const defaults = {
    consumer: queue,
    concurrency: 4,
    visibilityTimeoutMs,
    signal: stop.signal,
    idsOf: (body: string) => ({ task_id: `task of ${body.length}` }),
    log: silentLog,
  };
  return runQueueLoop({ ...defaults, ...options });
}

/** Waits for real things to happen; the test's own time limit ends what never does. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(2);
}

async function send(bodies: readonly string[]): Promise<void> {
  await Promise.all(bodies.map((body) => queue.send({ body })));
}

/** What is in the queue still, once every visibility timeout has passed. */
async function leftBodies(): Promise<string[]> {
  await clock.advance({ ms: visibilityTimeoutMs });
  const messages = await queue.receive({ max: 100, visibilityTimeoutMs, waitMs: 0 });
  return messages.map(({ body }) => body);
}

describe("messages", () => {
  it("handles and finishes each message once, with limited concurrency", async () => {
    let underWay = 0;
    let most = 0;
    const bodies = Array.from({ length: 20 }, (_, number) => `message ${number}`);
    await send(bodies);
    const handle = async ({ body }: ReceivedMessage) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await setTimeout(5);
      underWay -= 1;
      startedBodies.push(body);
    };
    const running = run({ handle, concurrency: 3 });
    await until(() => startedBodies.length === 20);
    stop.abort();
    await running;
    expect(most).toBe(3);
    expect(startedBodies.toSorted()).toEqual(bodies.toSorted());
    expect(await leftBodies()).toEqual([]);
  });

  it("keeps handling messages while another one takes long", async () => {
    await send(["long"]);
    const longOne = Promise.withResolvers<void>();
    const handle = async ({ body }: ReceivedMessage) => {
      startedBodies.push(body);
      if (body === "long") await longOne.promise;
    };
    const running = run({ handle, concurrency: 2 });
    await until(() => startedBodies.length === 1);
    await send(["short", "shorter"]);
    await until(() => startedBodies.length === 3);
    longOne.resolve();
    stop.abort();
    await running;
    expect(await leftBodies()).toEqual([]);
  });

  it("receives a message again after the visibility timeout when its handler fails", async () => {
    await send(["rejected", "thrown"]);
    const counts: number[] = [];
    const handle = ({ body, receiveCount }: ReceivedMessage): Promise<void> => {
      counts.push(receiveCount);
      if (receiveCount === 2) return Promise.resolve();
      if (body === "thrown") throw new Error("before any promise");
      return Promise.reject(new Error("handled badly"));
    };
    const running = run({ handle });
    await until(() => counts.length === 2);
    await setTimeout(20);
    expect(counts).toEqual([1, 1]);
    await clock.advance({ ms: visibilityTimeoutMs });
    await until(() => counts.length === 4);
    stop.abort();
    await running;
    expect(counts).toEqual([1, 1, 2, 2]);
    expect(await leftBodies()).toEqual([]);
  });

  it("aborts a handler whose message may be given to another worker", async () => {
    await send(["slow"]);
    const handle = async (_: ReceivedMessage, signal: AbortSignal) => {
      await setTimeout(60_000, undefined, { signal }).catch(() => startedBodies.push("aborted"));
    };
    const running = run({ handle, visibilityTimeoutMs: 10 });
    await until(() => startedBodies.length === 1);
    stop.abort();
    await running;
  });
});

describe("failures", () => {
  it("logs the kind of a failure, never its text", async () => {
    const lines: string[] = [];
    await send(["secret body"]);
    const consumer: QueueConsumer = {
      receive: (request) => queue.receive(request),
      finish: async () => {
        throw new RangeError("secret in finish");
      },
    };
    const handle = async ({ receiveCount }: ReceivedMessage) => {
      if (receiveCount === 1) throw new TypeError("secret in handle");
    };
    const running = run({
      consumer,
      handle,
      log: createLog({ service: "sekisho", write: (line) => lines.push(line) }),
    });
    await until(() => lines.length === 1);
    await clock.advance({ ms: visibilityTimeoutMs });
    await until(() => lines.length === 2);
    stop.abort();
    await running;
    const ids = { task_id: "task of 11" };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "queue_message_failed", ...ids, cause_kind: "TypeError", attempt: 1 },
      { message: "queue_finish_failed", ...ids, cause_kind: "RangeError", attempt: 2 },
    ]);
    expect(lines.join("")).not.toContain("secret");
  });

  it.each([
    ["are logged as a warning", visibilityTimeoutMs, ["queue_receipt_void"]],
    ["are ignored", visibilityTimeoutMs + 1, []],
  ])(
    "void receipts %s when a handler may take %i ms",
    async (_title, handleTimeoutMs, messages) => {
      const lines: string[] = [];
      await send(["finished by somebody else"]);
      const consumer: QueueConsumer = {
        receive: (request) => queue.receive(request),
        finish: async () => {
          startedBodies.push("finished");
          return false;
        },
      };
      const log = createLog({ service: "sekisho", write: (line) => lines.push(line) });
      const running = run({ consumer, handle: async () => {}, handleTimeoutMs, log });
      await until(() => startedBodies.length === 1);
      stop.abort();
      await running;
      expect(lines.map((line) => JSON.parse(line).message)).toEqual(messages);
    },
  );

  it("backs off up to ten seconds while the queue fails and resets the delay after a success", async () => {
    const delays: number[] = [];
    const lines: string[] = [];
    const failing = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11];
    let receives = 0;
    const consumer: QueueConsumer = {
      receive: async (request) => {
        receives += 1;
        if (failing.includes(receives)) throw new Error("the store is out of reach");
        return queue.receive({ ...request, max: 1 });
      },
      finish: (request) => queue.finish(request),
    };
    const sleep = async ({ ms }: { ms: number }) => {
      delays.push(ms);
    };
    await send(["after the storm", "after the gust"]);
    const handle = async ({ body }: ReceivedMessage) => {
      startedBodies.push(body);
    };
    const log = createLog({ service: "sekisho", write: (line) => lines.push(line) });
    const running = run({ consumer, handle, sleep, random: () => 0.5, log });
    await until(() => startedBodies.length === 2);
    expect(delays).toEqual([150, 200, 300, 500, 900, 1700, 3300, 5100, 5100, 150]);
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(
      Array(10).fill("queue_receive_failed"),
    );
    stop.abort();
    await running;
    expect(startedBodies).toEqual(["after the storm", "after the gust"]);
  });

  it("does not spin while every receive fails, and still stops at once", async () => {
    let receives = 0;
    const consumer: QueueConsumer = {
      receive: async () => {
        receives += 1;
        throw new Error("the store is out of reach");
      },
      finish: async () => false,
    };
    const running = run({ consumer, handle: async () => {} });
    await until(() => receives > 0);
    for (let turn = 0; turn < 200; turn += 1) await setImmediate();
    expect(receives).toBeLessThan(5);
    stop.abort();
    await running;
  });
});

describe("the loop", () => {
  it("asks for at most ten messages and twenty seconds, as SQS does", async () => {
    const requests: object[] = [];
    const consumer: QueueConsumer = {
      async receive({ max, waitMs }) {
        requests.push({ max, waitMs });
        stop.abort();
        return [];
      },
      finish: async () => true,
    };
    await run({ consumer, handle: async () => {}, concurrency: 11 });
    expect(requests).toEqual([{ max: 10, waitMs: 20_000 }]);
  });

  it("gives handlers ten seconds to finish and two more seconds to save", async () => {
    const times: number[] = [];
    await send(["hangs"]);
    const handle = async ({ body }: ReceivedMessage) => {
      startedBodies.push(body);
      await new Promise(() => {});
    };
    const sleep = async ({ ms }: { ms: number }) => {
      times.push(ms);
    };
    const running = run({ handle, sleep });
    await until(() => startedBodies.length === 1);
    stop.abort();
    await running;
    expect(times).toEqual([10_000, 2000]);
  });
});

describe("the end", () => {
  it("stops at once when there is nothing to do, also before the start", async () => {
    const running = run({ handle: async () => {} });
    await setTimeout(5);
    stop.abort();
    await running;
    await run({ handle: async () => {} });
  });

  it("lets running handlers finish and receives nothing more", async () => {
    const gate = Promise.withResolvers<void>();
    await send(["under way"]);
    const handle = async ({ body }: ReceivedMessage) => {
      startedBodies.push(body);
      await gate.promise;
    };
    let end = false;
    const running = run({ handle }).then(() => {
      end = true;
    });
    await until(() => startedBodies.length === 1);
    stop.abort();
    await send(["too late"]);
    await setTimeout(20);
    expect(end).toBe(false);
    gate.resolve();
    await running;
    expect(startedBodies).toEqual(["under way"]);
    expect(await leftBodies()).toEqual(["too late"]);
  });

  it("gives an aborted handler time to save its progress", async () => {
    await send(["saves"]);
    const beginning = Promise.withResolvers<void>();
    let isSaved = false;
    const handle = async (_: ReceivedMessage, signal: AbortSignal) => {
      beginning.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await setTimeout(20);
      isSaved = true;
    };
    const running = run({ handle, graceMs: 1 });
    await beginning.promise;
    stop.abort();
    await running;
    expect(isSaved).toBe(true);
  });

  it("aborts handlers that hang and stops after the grace period", async () => {
    await send(["hangs", "waits"]);
    const handle = async ({ body }: ReceivedMessage, signal: AbortSignal) => {
      startedBodies.push(body);
      signal.addEventListener("abort", () => startedBodies.push("told"));
      await new Promise(() => {});
    };
    const running = run({ handle, concurrency: 1, graceMs: 10 });
    await until(() => startedBodies.length === 1);
    stop.abort();
    await running;
    expect(startedBodies).toEqual(["hangs", "told"]);
    expect((await leftBodies()).toSorted()).toEqual(["hangs", "waits"]);
  });
});
