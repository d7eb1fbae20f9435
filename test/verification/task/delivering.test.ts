/** What the record of a task keeps once its outcome is known, and once it is over. */
import { describe, expect, it } from "@jest/globals";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { createDestinationSlots, createShare } from "@sekisho/verification/slots.ts";
import { endCleanup } from "@sekisho/verification/task/delivering.ts";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import { leftOutMember, type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { play } from "./play.ts";
import { askedAtMs, sampleCall, sampleTask } from "./sample.ts";

const nowMs = askedAtMs;
const wake: TaskEvent = { type: "woken", nowMs, workerDied: false };

function successWith(text: string): TaskEvent {
  return {
    type: "answered",
    nowMs,
    act: "send",
    result: { status: "success", response_text: text },
  };
}

function recordAfter(task: Task, ...events: TaskEvent[]): Task {
  return play(events, { task }).task;
}

/** Announced and sent; its text is as long as one can be in a language of three bytes a character. */
function sentTask(): Task {
  const task = sampleTask();
  const long = { ...task, message: { ...task.message, text: "関".repeat(40_000) } };
  return recordAfter(long, wake, { type: "announced", nowMs, ts: "1.0" }, wake);
}

describe("the record of a task", () => {
  it("a record expires 30 days after its message was received", () => {
    const task = sampleTask();
    expect(task.expiresAtMs - task.receivedAtMs).toBe(30 * 24 * 3600_000);
    expect(recordAfter(sentTask(), successWith("short")).expiresAtMs).toBe(task.expiresAtMs);
  });

  it("drops the params of the call when the outcome is known", () => {
    expect(sentTask().call?.params).toBeDefined();
    expect(recordAfter(sentTask(), successWith("short")).call?.params).toBeUndefined();
  });

  it.each([
    ["as long as the contract allows, in three bytes a character", "関".repeat(87_000), "answer"],
    ["of characters that JSON escapes", "\u001b".repeat(60_000), "failed"],
    ["from a peer that violates the contract", "x".repeat(1_000_000), "failed"],
  ])("fits a record into DynamoDB with an answer %s", (_what, text, type) => {
    const task = recordAfter(sentTask(), successWith(text));
    expect(Buffer.byteLength(JSON.stringify(task))).toBeLessThan(400_000);
    expect(task.outcome?.type).toBe(type);
    if (type === "failed") expect(task.outcome).toMatchObject({ reason: "payload_too_large" });
  });

  it("keeps an answer that Slack refused, so that it can be delivered once the cause is gone", () => {
    const goneFailure: TaskEvent = { type: "slack_failed", nowMs, act: "deliver", kind: "gone" };
    const undelivered = recordAfter(
      sentTask(),
      successWith("A checkpoint."),
      wake,
      goneFailure,
      wake,
      {
        type: "cleaned_up",
      },
    );
    expect(undelivered).toMatchObject({
      state: "done",
      outcome: { type: "answer", text: "A checkpoint." },
    });
    expect(undelivered.message.text).toBe("");
    const { task, last } = play([{ type: "redriven", nowMs, workerDied: false }], {
      task: undelivered,
    });
    expect(task).toMatchObject({ state: "delivering", cleanupDone: false, textsErased: true });
    expect(task.delivery).toEqual({ status: "posting" });
    expect(last).toEqual([{ type: "deliver", reconcile: true }]);
  });

  it("erases the files of its message but remembers that it had some", () => {
    const file = { id: "F1", name: "a.txt", mimetype: "text/plain", size: 1 };
    const withFile = sentTask();
    const over = recordAfter(
      { ...withFile, message: { ...withFile.message, files: [file] } },
      successWith("A checkpoint."),
      wake,
    );
    const { task } = play(
      [{ type: "delivered" }, { type: "thread_left" }, wake, { type: "cleaned_up" }],
      {
        task: over,
      },
    );
    expect(task.message).toMatchObject({ text: "", hadFiles: true });
    expect(JSON.stringify(task)).not.toContain("a.txt");
  });

  it("cleans up the thread after its delivery was given up and keeps its texts until then", () => {
    const goneFailure: TaskEvent = { type: "slack_failed", nowMs, act: "deliver", kind: "gone" };
    const { task, last } = play([wake, goneFailure], {
      task: recordAfter(sentTask(), successWith("A checkpoint.")),
    });
    expect(task).toMatchObject({
      state: "done",
      delivery: { status: "given_up" },
      cleanupDone: false,
    });
    expect(task.textsErased).toBeUndefined();
    expect(task.message.text).not.toBe("");
    expect(last).toMatchObject([{ type: "wake" }]);
    const threadCheck = play([wake], { task });
    expect(threadCheck.last).toEqual([{ type: "check_thread" }]);
    expect(play([{ type: "leftovers_found" }], { task: threadCheck.task })).toMatchObject({
      last: [{ type: "clean_up" }],
      task: { cleanupDone: false },
    });
  });

  it("delays its cleanup after an early copy of a wake-up until late posts have arrived", () => {
    const { task } = play([wake, { type: "delivered" }], {
      task: recordAfter(sentTask(), successWith("A checkpoint.")),
    });
    const doneTask = {
      ...task,
      history: [...task.history, { atMs: nowMs, event: "delivered", state: "done" as const }],
    };
    const wokenAfter = (ms: number) =>
      play([{ ...wake, nowMs: nowMs + ms }], { task: doneTask }).last;
    expect(wokenAfter(3000)).toEqual([{ type: "wake", delayMs: 117_000 }]);
    // The clock of another worker may be behind.
    for (const ms of [95_000, 120_000, 10_000_000])
      expect(wokenAfter(ms)).toEqual([{ type: "check_thread" }]);
  });

  it("erases an answer after delivery and cleanup, and keeps the reason of a failure", () => {
    const over: TaskEvent[] = [wake, { type: "delivered" }, wake, { type: "cleaned_up" }];
    expect(recordAfter(sentTask(), successWith("A checkpoint."), ...over).outcome).toBeUndefined();
    const lettered = recordAfter(
      sentTask(),
      { type: "dead_lettered", nowMs },
      { type: "canceled", nowMs },
      ...over,
    );
    expect(lettered).toMatchObject({
      state: "done",
      outcome: { type: "failed", reason: "ambiguous" },
    });
  });
});

describe("a file of an answer given by an address", () => {
  const artifacts = [{ url: "https://a.example/a.txt" }];
  const result: TaskResult = { status: "success", response_text: "Here.", artifacts };
  const delivering = () =>
    recordAfter(sentTask(), { type: "answered", nowMs, act: "send", result }, wake);

  it("counts a file at an address apart from the files that were left out", () => {
    const answer = { ...result, [leftOutMember]: 2 };
    const doneTask = recordAfter(sentTask(), {
      type: "answered",
      nowMs,
      act: "send",
      result: answer,
    });
    expect(doneTask.outcome).toMatchObject({ artifacts, leftOut: 2 });
    expect(delivering().outcome).not.toHaveProperty("leftOut");
  });

  it("waits for a busy transfer without counting a failure, up to the answer's time for transfers", () => {
    const waitForTransfer = (event: { nowMs: number; delayMs: number }) =>
      play([wake, { type: "transfer_busy", ...event }], { task: delivering() });
    const { task, last } = waitForTransfer({ nowMs, delayMs: 8000 });
    expect(task).toEqual(delivering());
    expect(last).toEqual([{ type: "wake", delayMs: 1000, jitterMs: 7000 }]);
    expect(waitForTransfer({ nowMs: nowMs + 59_000, delayMs: 8000 }).last).toMatchObject([
      { delayMs: 125, jitterMs: 875 },
    ]);
    expect(waitForTransfer({ nowMs: nowMs + 61_000, delayMs: 8000 }).last).toMatchObject([
      { delayMs: 0, jitterMs: 0 },
    ]);
  });

  it("gets its transfer in time when a hundred answers come at once, despite a high estimate", async () => {
    let clockMs = 0;
    const destinations = new Map(["a", "b"].map((name) => [name, { maxSends: 32 }]));
    const transfers = createShare({ max: 3 });
    const { transfer } = createDestinationSlots({
      destinations,
      slots: 64,
      transfers,
      now: () => clockMs,
    })("a");
    const due = Array.from({ length: 100 }, (_, index) => ({ atMs: index, run: tryTransfer }));
    let transferred = 0;
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };

    async function tryTransfer(): Promise<void> {
      const slot = await transfer.take();
      if ("release" in slot) {
        const end = async () => slot.release();
        transferred += 1;
        due.push({ atMs: clockMs + 200, run: end });
        return;
      }
      const busy: TaskEvent = {
        type: "transfer_busy",
        nowMs: nowMs + clockMs,
        delayMs: slot.delayMs,
      };
      const [effect] = play([wake, busy], { task: delivering() }).last;
      if (effect?.type !== "wake") throw new Error("the task waits");
      const delayMs = effect.delayMs + Math.floor(random() * (effect.jitterMs ?? 0));
      due.push({ atMs: clockMs + delayMs, run: tryTransfer });
    }

    while (clockMs < 60_000) {
      const [first, ...others] = due.sort((one, other) => one.atMs - other.atMs);
      if (first === undefined) break;
      due.splice(0, due.length, ...others);
      clockMs = first.atMs;
      await first.run();
    }
    expect(transferred).toBe(100);
  });

  it("gives a file up after four time-outs and records each of them", () => {
    const timedOut: TaskEvent = { type: "fetch_timed_out", index: 0 };
    const once = recordAfter(delivering(), wake, timedOut);
    expect(once).toMatchObject({ attempts: 1, outcome: { fetchTimeouts: [0] } });
    const four = recordAfter(delivering(), ...[1, 2, 3, 4].flatMap(() => [wake, timedOut]));
    expect(four).toMatchObject({
      attempts: 0,
      outcome: { fetchTimeouts: [0, 0, 0, 0], uploads: [{ failed: true }] },
    });
  });
});

describe("an act that is deferred to the next wake-up", () => {
  const endedTask = recordAfter(sentTask(), successWith("A checkpoint."), wake, {
    type: "slack_failed",
    nowMs,
    act: "deliver",
    kind: "gone",
  });
  const cancelFailed = {
    reason: "unavailable",
    certainty: "undelivered",
    lost: false,
  } as const;

  it.each<[string, TaskEvent]>([
    ["succeeded", { type: "canceled", nowMs }],
    ["failed", { type: "call_failed", nowMs, act: "cancel", error: cancelFailed }],
    ["was not attempted", { type: "busy", delayMs: 100 }],
  ])("ignores a pending cancel call that %s once the task has ended", (_how, event) => {
    const { task, asked } = play([wake, event], { task: { ...endedTask, owed: "cancel" } });
    expect(task).toEqual(endedTask);
    expect(asked).toEqual([[{ type: "cancel" }], [{ type: "wake", delayMs: 120_000 }]]);
  });

  it("ignores an owed release of the thread once the task is delivered again", () => {
    const again = recordAfter(endedTask, { type: "redriven", nowMs, workerDied: false });
    const { task, last } = play([wake], { task: { ...again, owed: "leave_thread" } });
    expect(task).toEqual(again);
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
  });
});

const secret = "a secret";
const base = sampleTask();
const file = {
  id: "F1",
  name: secret,
  mimetype: "text/plain",
  size: 1,
  url: `https://files.example/${secret}`,
};
const option = { id: secret, label: secret, style: secret };

const params = {
  channel: "C1",
  text: secret,
  correlation_id: base.id,
  history: [{ role: "user" as const, text: secret }],
};

/** Each field of the record has its line here, with a text wherever it can hold one. */
const fullTask = {
  id: base.id,
  revision: 3,
  state: "done",
  thread: base.thread,
  principal: base.principal,
  expiresAtMs: base.expiresAtMs,
  wakeSeq: 4,
  lease: undefined,
  attempts: 0,
  reconcile: true,
  nonTransientFailures: 0,
  limitedReads: undefined,
  receivedAtMs: askedAtMs,
  history: base.history,
  retryOf: undefined,
  trace: base.trace,
  message: { ...base.message, text: secret, files: [file], sharedFiles: [file] },
  route: { key: "[null,null,null]", destinations: ["host"] },
  call: sampleCall({ params, taskId: "t-1" }),
  wait: { workStartedAtMs: askedAtMs, polls: 2 },
  queuePosition: 0,
  placeholder: { ts: "1.1", postedAtMs: askedAtMs },
  cancelReason: undefined,
  locale: "ja",
  threadRef: undefined,
  progress: { text: secret, partialText: secret, shownAtMs: askedAtMs },
  stream: { messages: [{ ts: "1.2", startedAtMs: askedAtMs }], length: 4 },
  question: {
    index: 0,
    prompt: secret,
    options: [option],
    askedAtMs,
    expiresAtMs: askedAtMs + 1,
    answer: { user: "U1", atMs: askedAtMs, text: secret, callId: "c-1" },
  },
  answeredBy: [base.id],
  mrkdwnFallback: true,
  outcome: { type: "answer", text: secret, artifacts: [{ name: secret, text: secret }] },
  votes: [{ voterId: "v1", vote: "up", atMs: askedAtMs }],
  owed: undefined,
  lateChange: "edited",
  delivery: { status: "posting", rewriteParts: true },
  cleanupDone: false,
  textsErased: undefined,
  endedAtMs: askedAtMs,
  tokens: { total: 7 },
  texts: undefined,
  wakeKey: undefined,
  listedAtMs: askedAtMs,
} satisfies { [K in keyof Required<Task>]: Task[K] };

const optional = (Object.keys(fullTask) as (keyof typeof fullTask)[]).filter((key) =>
  taskSchema.shape[key].isOptional(),
);

it("erases every text of a record that was cleaned up, for any combination of fields", () => {
  expect(JSON.stringify(fullTask)).toContain(secret);
  const failure = {
    type: "failed" as const,
    reason: "plan_error" as const,
    lost: false,
    explanation: secret,
  };
  const outcomes = fc.constantFrom<Task["outcome"]>(fullTask.outcome, failure);
  forAll(fc.tuple(fc.subarray(optional), outcomes)).hold(([missing, outcome]) => {
    const task: Task = {
      ...fullTask,
      outcome,
      ...Object.fromEntries(missing.map((key) => [key, undefined])),
      history: base.history,
    };
    const cleanTask = endCleanup(task);
    expect(JSON.stringify(cleanTask)).not.toContain(secret);
    expect(taskSchema.parse(JSON.parse(JSON.stringify(cleanTask)))).toMatchObject({
      id: base.id,
      cleanupDone: true,
    });
  });
});
