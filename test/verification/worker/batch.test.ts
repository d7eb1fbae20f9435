/** A batch from SQS: each message's failure is its own. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { handleBatch, parseBatch, retryDelaySeconds } from "../../../lambdas/verification/worker/batch.ts";

const nowMs = 1_762_750_300_000;

/** As Lambda gives it; what is not read here is left out. */
function sqsEvent(
  records: { id: string; body?: string; receiveCount?: number; group?: string; dueAtMs?: number }[],
): unknown {
  return {
    Records: records.map(({ id, body = id, receiveCount = 1, group, dueAtMs }) => ({
      messageId: id,
      receiptHandle: `receipt of ${id}`,
      body,
      attributes: {
        ApproximateReceiveCount: String(receiveCount),
        SentTimestamp: String(nowMs),
        SenderId: "AIDA",
        ApproximateFirstReceiveTimestamp: String(nowMs),
        ...(group === undefined ? {} : { MessageGroupId: group }),
      },
      messageAttributes:
        dueAtMs === undefined
          ? {}
          : {
              DueAtMs: { stringValue: String(dueAtMs), stringListValues: [], binaryListValues: [], dataType: "Number" },
            },
      eventSource: "aws:sqs",
      eventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:tasks",
      awsRegion: "eu-central-1",
    })),
  };
}

function setUp(fails: (body: string) => boolean = () => false) {
  const handled: string[] = [];
  const failed: [string, number][] = [];
  const sent: unknown[] = [];
  const run = (event: unknown) =>
    handleBatch({
      batch: parseBatch(event),
      handle: async ({ body }) => {
        handled.push(body);
        if (fails(body)) throw new Error("out of reach");
      },
      failed: async ({ receiptHandle, receiveCount }) => void failed.push([receiptHandle, receiveCount]),
      queue: { send: async (message) => void sent.push(message) },
      log: silentLog,
      now: () => nowMs,
    });
  return { run, handled, failed, sent };
}

describe("a batch", () => {
  it("names exactly the messages that failed, and sees to it when they come again", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 10 }),
        fc.func(fc.boolean()),
        async (ids, fails) => {
          const { run, handled, failed } = setUp(fails);
          const { batchItemFailures } = await run(sqsEvent(ids.map((id) => ({ id, receiveCount: 2 }))));
          const expected = ids.filter((id) => fails(id));
          expect(handled).toEqual(ids);
          expect(batchItemFailures).toEqual(expected.map((itemIdentifier) => ({ itemIdentifier })));
          expect(failed).toEqual(expected.map((id) => [`receipt of ${id}`, 2]));
        },
      ),
    );
  });

  it("handles its messages at once: one that waits holds up no other", async () => {
    const started: string[] = [];
    const { promise: all, resolve } = Promise.withResolvers<void>();
    await handleBatch({
      batch: parseBatch(sqsEvent([{ id: "a" }, { id: "b" }, { id: "c" }])),
      handle: async ({ body }) => {
        started.push(body);
        if (started.length === 3) resolve();
        await all;
      },
      queue: { send: async () => {} },
      log: silentLog,
    });
    expect(started).toEqual(["a", "b", "c"]);
  });

  it("sends a message on that is not due, with what is left of its delay and in its own turn, and finishes it", async () => {
    const { run, handled, sent } = setUp();
    const due = { id: "due", dueAtMs: nowMs };
    const early = { id: "early", body: "{}", dueAtMs: nowMs + 60_000, group: "T1" };
    expect(await run(sqsEvent([due, early]))).toEqual({ batchItemFailures: [] });
    expect(handled).toEqual(["due"]);
    expect(sent).toEqual([{ body: "{}", delayMs: 60_000, group: "T1" }]);
  });

  it("keeps a message that could not be sent on", async () => {
    const failing = handleBatch({
      batch: parseBatch(sqsEvent([{ id: "early", dueAtMs: nowMs + 1 }])),
      handle: async () => {},
      queue: { send: () => Promise.reject(new Error("out of reach")) },
      log: silentLog,
      now: () => nowMs,
    });
    expect(await failing).toEqual({ batchItemFailures: [{ itemIdentifier: "early" }] });
  });

  it("that is none of SQS's fails as a whole, so that nothing is removed", () => {
    for (const event of [undefined, {}, { Records: [{ messageId: "a" }] }]) expect(() => parseBatch(event)).toThrow();
  });
});

it("a failed message comes again after five seconds, then later each time, and never later than in five minutes", () => {
  expect([1, 2, 3].map((receiveCount) => retryDelaySeconds({ receiveCount }))).toEqual([5, 10, 20]);
  fc.assert(
    fc.property(fc.integer({ min: -1, max: 2000 }), (receiveCount) => {
      const [delay, next] = [receiveCount, receiveCount + 1].map((count) => retryDelaySeconds({ receiveCount: count }));
      expect(next).toBeGreaterThanOrEqual(delay ?? 0);
      expect(delay).toBeGreaterThanOrEqual(5);
      expect(next).toBeLessThanOrEqual(300);
    }),
  );
});
