/** A batch from SQS: each message's failure is its own. */
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import {
  endingSignal,
  handleBatch,
  parseBatch,
  retryDelaySeconds,
} from "@sekisho/runtime/engine/aws/batch.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import fc from "fast-check";
import { createSqsRecord } from "../../../doubles/aws/sqs-event.ts";
import { forAll } from "../../../doubles/for-all.ts";

const nowMs = 1_762_750_300_000;

function sqsEvent(
  records: { id: string; body?: string; receiveCount?: number; group?: string; dueAtMs?: number }[],
): unknown {
  return {
    Records: records.map(({ id, body = id, ...options }) =>
      createSqsRecord(body, { messageId: id, ...options }),
    ),
  };
}

function idsOf(body: string) {
  return { task_id: `task of ${body}` };
}

function setUp(fails: (body: string) => boolean = () => false) {
  const handledBodies: string[] = [];
  const failures: [string, number][] = [];
  const sentMessages: unknown[] = [];
  const run = (event: unknown) =>
    handleBatch({
      batch: parseBatch(event),
      handle: async ({ body }) => {
        handledBodies.push(body);
        if (fails(body)) throw new Error("out of reach");
      },
      onFailure: async ({ receiptHandle, receiveCount }) =>
        void failures.push([receiptHandle, receiveCount]),
      queue: { send: async (message) => void sentMessages.push(message) },
      idsOf,
      log: silentLog,
      now: () => nowMs,
    });
  return { run, handledBodies, failures, sent: sentMessages };
}

describe("a batch", () => {
  it("reports exactly the failed messages and schedules their retry", async () => {
    await forAll(
      fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 10 }),
      fc.func(fc.boolean()),
    ).holdAsync(async (ids, fails) => {
      const { run, handledBodies, failures } = setUp(fails);
      const { batchItemFailures } = await run(sqsEvent(ids.map((id) => ({ id, receiveCount: 2 }))));
      const expectedResult = ids.filter((id) => fails(id));
      expect(handledBodies).toEqual(ids);
      expect(batchItemFailures).toEqual(
        expectedResult.map((itemIdentifier) => ({ itemIdentifier })),
      );
      expect(failures).toEqual(expectedResult.map((id) => [`receipt of ${id}`, 2]));
    });
  });

  it("handles all messages of a batch concurrently", async () => {
    const startedBodies: string[] = [];
    const { promise: all, resolve } = Promise.withResolvers<void>();
    await handleBatch({
      batch: parseBatch(sqsEvent([{ id: "a" }, { id: "b" }, { id: "c" }])),
      handle: async ({ body }) => {
        startedBodies.push(body);
        if (startedBodies.length === 3) resolve();
        await all;
      },
      queue: { send: async () => {} },
      idsOf,
      log: silentLog,
    });
    expect(startedBodies).toEqual(["a", "b", "c"]);
  });

  it("sends an early message on with its remaining delay and group, and removes the received one", async () => {
    const { run, handledBodies, sent: sentMessages } = setUp();
    const due = { id: "due", dueAtMs: nowMs };
    const early = { id: "early", body: "{}", dueAtMs: nowMs + 60_000, group: "T1" };
    expect(await run(sqsEvent([due, early]))).toEqual({ batchItemFailures: [] });
    expect(handledBodies).toEqual(["due"]);
    expect(sentMessages).toEqual([{ body: "{}", delayMs: 60_000, group: "T1" }]);
  });

  it("logs the ids of a failed message as the caller reads them", async () => {
    const lines: string[] = [];
    await handleBatch({
      batch: parseBatch(sqsEvent([{ id: "a", receiveCount: 2 }])),
      handle: () => Promise.reject(new TypeError("out of reach")),
      idsOf,
      log: createLog({ service: "sekisho", write: (line) => lines.push(line) }),
    });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        message: "queue_message_failed",
        task_id: "task of a",
        cause_kind: "TypeError",
        attempt: 2,
      },
    ]);
  });

  it("handles an early message at once if no queue is configured to send it on", async () => {
    const handledBodies: string[] = [];
    const response = await handleBatch({
      batch: parseBatch(sqsEvent([{ id: "early", dueAtMs: nowMs + 1 }])),
      handle: async ({ body }) => void handledBodies.push(body),
      idsOf,
      log: silentLog,
      now: () => nowMs,
    });
    expect(response).toEqual({ batchItemFailures: [] });
    expect(handledBodies).toEqual(["early"]);
  });

  it("keeps a message that could not be sent on", async () => {
    const failing = handleBatch({
      batch: parseBatch(sqsEvent([{ id: "early", dueAtMs: nowMs + 1 }])),
      handle: async () => {},
      queue: { send: () => Promise.reject(new Error("out of reach")) },
      idsOf,
      log: silentLog,
      now: () => nowMs,
    });
    expect(await failing).toEqual({ batchItemFailures: [{ itemIdentifier: "early" }] });
  });

  it("throws for an event that does not come from SQS, so that nothing is removed", () => {
    for (const event of [undefined, {}, { Records: [{ messageId: "a" }] }])
      expect(() => parseBatch(event)).toThrow();
  });
});

it("delays a failed message by five seconds at first, and by at most five minutes later", () => {
  expect([1, 2, 3].map((receiveCount) => retryDelaySeconds({ receiveCount }))).toEqual([5, 10, 20]);
  forAll(fc.integer({ min: -1, max: 2000 })).hold((receiveCount) => {
    const [delay, next] = [receiveCount, receiveCount + 1].map((count) =>
      retryDelaySeconds({ receiveCount: count }),
    );
    expect(next).toBeGreaterThanOrEqual(delay ?? 0);
    expect(delay).toBeGreaterThanOrEqual(5);
    expect(next).toBeLessThanOrEqual(300);
  });
});

describe("the signal of an invocation", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** A function that may run for so long, from now on. */
  function invocation(ms: number) {
    const endsAtMs = Date.now() + ms;
    const context = { getRemainingTimeInMillis: () => endsAtMs - Date.now() };
    return { context, ...endingSignal({ context }) };
  }

  it("aborts early enough to save the record and to send the next wake-up", () => {
    const { context, signal } = invocation(75_000);
    const leftMs: number[] = [];
    signal.addEventListener("abort", () => leftMs.push(context.getRemainingTimeInMillis()));
    jest.advanceTimersByTime(60_000);
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(15_000);
    expect(leftMs).toEqual([5000]);
  });

  it("aborts at once if too little time remains, and clears its timer when the invocation ends", () => {
    const short = invocation(3000);
    jest.advanceTimersByTime(0);
    expect(short.signal.aborted).toBe(true);
    const { signal, end } = invocation(75_000);
    end();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(75_000);
    expect(signal.aborted).toBe(false);
  });
});
