/** A step that fails once its task is claimed: when its message comes again. */
import type { ChangeMessageVisibilityCommand, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, it } from "@jest/globals";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createRetryLater } from "../../../lambdas/verification/worker/batch.ts";
import { InterruptedStep } from "../../../lambdas/verification/worker/run-step.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();

describe("a step that fails", () => {
  it("says until when its lease keeps others away, if it has one", async () => {
    for (const [nth, expected] of [
      [0, Error],
      [1, InterruptedStep],
    ] as const) {
      let count = 0;
      const world = createWorld({ fate: ({ name }) => (name === "replace" && count++ === nth ? "refused" : "ok") });
      world.deliver(ask);
      const failed = await world.handleDue().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(failed).toBeInstanceOf(expected);
      const untilMs = world.records.get(ask.requestId)?.lease?.untilMs;
      expect(failed instanceof InterruptedStep ? failed.leaseUntilMs : undefined).toBe(untilMs);
    }
  });

  it("brings its message back when the lease is over, so that the queue goes on counting; any other sooner", async () => {
    const seconds: (number | undefined)[] = [];
    const client = {
      async send(command: ChangeMessageVisibilityCommand) {
        seconds.push(command.input.VisibilityTimeout);
      },
    } as unknown as SQSClient;
    const retryLater = createRetryLater({ client, queueUrl: "queue", log: silentLog, now: () => 1_000_000 });
    await retryLater({ body: "{}", receiptHandle: "r", receiveCount: 1, notBeforeMs: 1_059_500 });
    await retryLater({ body: "{}", receiptHandle: "r", receiveCount: 1, notBeforeMs: 0 });
    await retryLater({ body: "{}", receiptHandle: "r", receiveCount: 6, notBeforeMs: 1_059_500 });
    expect(seconds).toEqual([61, 5, 160]);
  });
});
