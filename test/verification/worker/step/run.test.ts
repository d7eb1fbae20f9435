/** Our own code that fails on the data of a task: the task ends in words at once, and nothing is tried again and again. */

import type { ChangeMessageVisibilityRequest } from "@aws-sdk/client-sqs";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { createRetryLater } from "@sekisho/runtime/engine/aws/batch.ts";
import type { Sqs } from "@sekisho/runtime/engine/aws/client.ts";
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { salvageTask } from "@sekisho/verification/task/recovery.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { isDataFailure, pureStep } from "@sekisho/verification/worker/data-failures.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import { InterruptedStep } from "@sekisho/verification/worker/step/lease.ts";
import { collectLog } from "../../../doubles/collect-log.ts";
import { failReads, failWrites } from "../../../world/faults.ts";
import { worldText } from "../../../world/people.ts";
import { createWorld, runWorld } from "../../../world/world.ts";
import { sampleAsk, sampleCall, sampleTask } from "../../task/sample.ts";

const ask = sampleAsk();
const poison = "poison";
const internal = { type: "failed", reason: "internal", lost: false };
const instead = { ...internal, insteadOfAnswer: true };

function failOn(text: string | undefined): void {
  if (text?.includes(poison)) throw new TypeError(text);
}

async function run(options: Parameters<typeof createWorld>[0]) {
  const { log, lines, entries } = collectLog();
  const world = createWorld({ log, ...options });
  const startMs = world.now();
  await world.deliver(ask).run({
    until: () => world.answers().length > 0 && world.taskOf(ask)?.state === "done",
  });
  const tookMs = world.now() - startMs;
  await world.run();
  expect(lines.join("")).not.toContain(poison);
  const entriesOf = (name: string) => entries().filter(({ message }) => message === name);
  const failures = entriesOf("step_failed");
  const undelivered = entriesOf("answer_not_delivered");
  return {
    world,
    answers: world.answers().map((answer) => JSON.parse(answer)),
    failures,
    undelivered,
    tookMs,
  };
}

/** Too deep for any stack. The host of this world stands behind the boundary. */
const deep: Artifact = { data: JSON.parse("[".repeat(50_000) + "]".repeat(50_000)) };
const answer = { status: "success", response_text: "A checkpoint." } as const;

describe("a result on which the task machine fails", () => {
  it.each([0, 2])(
    "fails the task at once with a message after %i polls",
    async (pollsUntilDone) => {
      const { world, answers, failures, tookMs } = await run({
        story: () => ({ ...answer, artifacts: [deep] }),
        pollsUntilDone,
      });
      expect(answers).toEqual([internal]);
      expect(tookMs).toBeLessThan(10_000);
      expect(failures).toMatchObject([
        {
          level: "error",
          request_id: ask.requestId,
          cause_kind: "RangeError",
          state: pollsUntilDone ? "waiting" : "sent",
        },
      ]);
      // What may be at work is canceled.
      expect(world.cancels).toHaveLength(1);
    },
  );
});

describe("an answer that cannot be shown", () => {
  it("replaces an answer that cannot be shown by a failure and leaves no part of it", async () => {
    const { answers, failures, tookMs } = await run({
      story: () => ({ ...answer, response_text: poison }),
      text: {
        parts(task) {
          if (task.outcome?.type === "answer") failOn(task.outcome.text);
          return worldText.parts(task);
        },
      },
    });
    expect(answers).toEqual([instead]);
    expect(tookMs).toBeLessThan(10_000);
    expect(failures).toMatchObject([{ state: "delivering", cause_kind: "TypeError" }]);
  });

  it("gives the delivery up if even the failure cannot be shown", async () => {
    const { world, failures, undelivered } = await run({
      text: {
        parts: () => {
          throw new TypeError(poison);
        },
      },
    });
    expect(world.answers()).toEqual([]);
    expect(world.taskOf(ask)).toMatchObject({ state: "done", outcome: instead });
    // The answer, and the words that stand in its place.
    expect(failures).toHaveLength(2);
    expect(undelivered).toMatchObject([{ reason: "internal", operation: "deliver" }]);
    expect(world.threads.get("thread:C1/1760000000.000100")?.tasks ?? []).toEqual([]);
  });
});

describe("a placeholder, a question or a status that cannot be shown with the texts of others", () => {
  it("shows the placeholder without the agent's text and continues the task", async () => {
    const { world, failures } = await run({
      story: () => ({ ...answer, response_text: JSON.stringify("done") }),
      pollsUntilDone: 3,
      progress: (polls) => ({ text: `${poison} ${polls}` }),
      text: {
        placeholder(task) {
          failOn(task.progress?.text);
          return worldText.placeholder(task);
        },
      },
    });
    expect(world.answers()).toEqual(['"done"']);
    expect(failures).toEqual([]);
  });

  it("asks the question without the agent's text", async () => {
    const world = createWorld({
      questions: [{ prompt: poison, options: [{ id: "a", label: "A" }] }],
      text: {
        question(request) {
          failOn(request.task.question?.prompt);
          return worldText.question(request);
        },
      },
    });
    await world.deliver(ask).run({ until: () => world.questions().length > 0 });
    expect(world.questions()).toEqual(["A question"]);
  });
});

describe("a record that cannot be written", () => {
  it.each<[string, (task: Task) => boolean]>([
    [
      "when its task is claimed",
      ({ state, lease }) => state === "delivering" && lease !== undefined,
    ],
    ["when a step of it ends", ({ outcome }) => outcome?.type === "answer"],
  ])(
    "fails the task with a message if its record cannot be written %s",
    async (_when, isUnwritable) => {
      const { answers, tookMs } = await run({
        fault: failWrites((task) => task.outcome?.type === "answer" && isUnwritable(task)),
      });
      expect(answers).toEqual([instead]);
      expect(tookMs).toBeLessThan(10_000);
    },
  );

  it("cancels a task at the host whose record cannot be written while the agent may be running", async () => {
    const { world, answers } = await run({
      pollsUntilDone: 2,
      fault: failWrites(({ state }) => state === "waiting"),
    });
    expect(answers).toEqual([internal]);
    expect(world.cancels).toHaveLength(1);
  });

  it("gives up, logs and frees the thread if even the record of the failure cannot be written", async () => {
    const { world, undelivered } = await run({
      text: {
        parts(task) {
          if (task.outcome?.type === "answer") throw new TypeError(poison);
          return worldText.parts(task);
        },
      },
      fault: failWrites(
        ({ state, outcome }) =>
          state === "delivering" && outcome?.type === "failed" && outcome.insteadOfAnswer === true,
      ),
    });
    expect(world.answers()).toEqual([]);
    expect(world.taskOf(ask)).toMatchObject({ state: "done", outcome: instead });
    expect(undelivered).toMatchObject([{ reason: "internal", operation: "save" }]);
    expect(world.threads.get("thread:C1/1760000000.000100")?.tasks ?? []).toEqual([]);
  });
});

describe("a record that cannot be read", () => {
  it("fails a task with an unreadable record after its dead letter and stores that for an operator", async () => {
    let isUnreadable = false;
    const world = createWorld({ pollsUntilDone: 3, fault: failReads(() => isUnreadable) });
    await world.deliver(ask).run({ until: () => world.taskOf(ask)?.state === "waiting" });
    isUnreadable = true;
    await world.run({ maxSteps: 3 });
    expect(world.answers()).toEqual([]);
    const burial = world.deadLetterAll();
    // What is written then can be read again.
    await burial.finally(() => {
      isUnreadable = false;
    });
    await world.run();
    expect(world.answers().map((text) => JSON.parse(text))).toEqual([internal]);
    expect(world.archive).toHaveLength(1);
    expect(world.posts.filter(({ key }) => key?.kind === "placeholder")).toEqual([]);
  });

  it("rejects a record that names nobody and keeps the placeholder of a damaged one", () => {
    expect(salvageTask({ id: 7 })).toBeUndefined();
    expect(salvageTask(undefined)).toBeUndefined();
    const placeholder = { ts: "1.1", postedAtMs: 1 };
    expect(
      salvageTask({ ...sampleTask({ placeholder }), state: "elsewhere", wait: "x" }),
    ).toMatchObject({
      state: "received",
      placeholder,
    });
  });

  it.each<[string, object, object]>([
    ["the task id", { taskId: 17 }, { destination: "host", sessionId: "s-1" }],
    ["the session id", { sessionId: 17 }, { destination: "host", taskId: "t-1" }],
  ])(
    "keeps the destination of a record if %s is unreadable, so that the task can be canceled",
    (_what, damage, keptCall) => {
      const call = { ...sampleCall({ taskId: "t-1" }), ...damage };
      expect(salvageTask({ ...sampleTask({ state: "waiting" }), call })).toMatchObject({
        call: keptCall,
      });
    },
  );

  it("keeps the placeholder of a record whose time is unreadable", () => {
    const placeholder = { ts: "1.1", postedAtMs: "yesterday" };
    expect(salvageTask({ ...sampleTask(), placeholder })).toMatchObject({
      placeholder: { ts: "1.1" },
    });
  });
});

describe("a step that fails", () => {
  it("reports the end of the lease of a failed step, if it holds one", async () => {
    for (const [nth, errorClass] of [
      [0, Error],
      [1, InterruptedStep],
    ] as const) {
      let count = 0;
      const world = createWorld({
        fault: ({ name }) => name === "replace" && count++ === nth && "refused",
      });
      world.deliver(ask);
      const error = await world.handleDue().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(errorClass);
      const untilMs = world.taskOf(ask)?.lease?.untilMs;
      expect(error instanceof InterruptedStep ? error.leaseUntilMs : undefined).toBe(untilMs);
    }
  });

  it("returns the message of a failed step when its lease ends, and any other message sooner", async () => {
    const seconds: (number | undefined)[] = [];
    const client = {
      async call(_operation: string, input: ChangeMessageVisibilityRequest) {
        seconds.push(input.VisibilityTimeout);
      },
    } as unknown as Sqs;
    const retryLater = createRetryLater({
      client,
      queueUrl: "queue",
      idsOf: readQueuedIds,
      log: silentLog,
      now: () => 1_000_000,
    });
    await retryLater({ body: "{}", receiptHandle: "r", receiveCount: 1, notBeforeMs: 1_059_500 });
    await retryLater({ body: "{}", receiptHandle: "r", receiveCount: 1, notBeforeMs: 0 });
    await retryLater({ body: "{}", receiptHandle: "r", receiveCount: 6, notBeforeMs: 1_059_500 });
    expect(seconds).toEqual([61, 5, 160]);
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

it("an overflow of stack or string is a failure of the data, and exhausted memory is not", () => {
  const recurse = (): unknown => [recurse()];
  expect(isDataFailure(thrownBy(recurse))).toBe(true);
  expect(isDataFailure(thrownBy(() => "x".repeat(2 ** 30)))).toBe(true);
  const defect = () => {
    throw new TypeError();
  };
  expect(isDataFailure(thrownBy(() => pureStep(defect)))).toBe(true);
  // An act reads other records than the task's own.
  expect(isDataFailure(new ItemError({ cause: new TypeError() }))).toBe(false);
  // As V8 says it, of a realm that is not the test runner's.
  const short = new RangeError("Array buffer allocation failed");
  expect(isDataFailure(short)).toBe(false);
});

async function linesOf({ fault, story }: Parameters<typeof createWorld>[0] = {}) {
  const { log, lines, entries } = collectLog();
  await runWorld({ log, pollsUntilDone: 2, ...(fault && { fault }), ...(story && { story }) });
  expect(lines.join("")).not.toContain(ask.message.text);
  return entries();
}

const ids = { request_id: ask.requestId, task_id: "t-1" };

describe("the log of the worker", () => {
  it("logs the request id, the task id and the reason of a failed call", async () => {
    const lines = await linesOf({
      story: () => {
        throw new SekishoError("execution_failed");
      },
    });
    const failedCalls = lines.filter(({ event }) => event === "call_failed");
    expect(failedCalls).toMatchObject([
      { message: "task_step", ...ids, reason: "execution_failed" },
    ]);
  });

  it("logs both ids, the operation and the reason of an undelivered answer", async () => {
    let isAccepted = false;
    const lines = await linesOf({
      fault: ({ party, name }) => {
        isAccepted ||= name === "get_task";
        return party === "slack" && isAccepted && "refused";
      },
    });
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { message: "answer_not_delivered", ...ids, operation: "deliver", reason: "unavailable" },
    ]);
  });

  it("logs the trace of a task whose message waits for a lease or comes twice", async () => {
    const { log, entries } = collectLog({ level: "debug" });
    let count = 0;
    const world = createWorld({
      log,
      fault: ({ name }) => name === "replace" && count++ === 1 && "refused",
    });
    world.deliver(ask);
    await expect(world.handleDue()).rejects.toThrow();
    await world.deliver(ask).run();
    await world.deliver(ask).run();
    const traceId = readTraceId(ask.trace);
    expect(entries().filter(({ level }) => level === "debug")).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: "message_deferred", trace_id: traceId }),
        expect.objectContaining({ message: "wake_up_dropped", trace_id: traceId }),
      ]),
    );
  });

  it("logs why a malformed message was refused and nothing of its content", async () => {
    const { log, lines, entries } = collectLog();
    const world = createWorld({ log });
    world.queueRaw("the text of nobody");
    await world.deadLetterAll();
    expect(entries()).toMatchObject([
      { level: "error", message: "queue_message_refused", reason: "invalid_request", bytes: 18 },
    ]);
    expect(lines.join("")).not.toContain("nobody");
  });
});
