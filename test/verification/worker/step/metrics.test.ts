/** What the steps of tasks count, from the records before and after each. */
import { describe, expect, it } from "@jest/globals";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import type { Task, TaskOutcome } from "@sekisho/verification/task/task.ts";
import { countStep } from "@sekisho/verification/worker/step/metrics.ts";
import { type Counted, recordedMetrics } from "../../../runtime/telemetry/recorded.ts";
import { askedAtMs, sampleAsk, sampleCall, sampleTask } from "../../task/sample.ts";

/** What is counted, in order. */
function countMetrics(step: { previousTask: Task; event: TaskEvent; task: Task }): Counted[] {
  const { metrics, counted: all } = recordedMetrics();
  countStep({ metrics, ...step });
  return all;
}

function at(state: Task["state"], seconds: number, event = "woken") {
  return { atMs: askedAtMs + seconds * 1000, event, state };
}

const deliveredEvent: TaskEvent = { type: "delivered" };
const wokenEvent: TaskEvent = { type: "woken", nowMs: askedAtMs + 250, workerDied: false };
const history = [
  at("received", 0, "asked"),
  at("announced", 1),
  at("sent", 2),
  at("delivering", 5),
];

function endWith(outcome: TaskOutcome | undefined, changes: Partial<Task> = {}) {
  const previousTask = sampleTask({
    state: "delivering",
    call: sampleCall({ destination: "far" }),
    placeholder: { ts: "1.1", postedAtMs: askedAtMs },
    outcome,
    history,
    ...changes,
  });
  const task: Task = {
    ...previousTask,
    state: "done",
    history: [...previousTask.history, at("done", 6, "delivered")],
  };
  return { previousTask, event: deliveredEvent, task };
}

describe("a task that is over", () => {
  it("counts a task once with its duration, its last stage and its delivery", () => {
    expect(countMetrics(endWith({ type: "answer", text: "secret words" }))).toEqual([
      ["sekisho_stage_seconds", { stage: "delivering" }, 1],
      ["sekisho_answers_delivered_total", { outcome: "answer" }, 1],
      ["sekisho_tasks_total", { outcome: "answer", reason: "none", destination: "far" }, 1],
      ["sekisho_task_seconds", { outcome: "answer", destination: "far" }, 6],
    ]);
  });

  it("counts a repeated delivery as a delivery and not as a task", () => {
    const again = {
      history: [...history, at("done", 6, "delivered"), at("delivering", 60, "redriven")],
    };
    const names = countMetrics(endWith({ type: "answer", text: "" }, again)).map(([name]) => name);
    expect(names).toEqual(["sekisho_stage_seconds", "sekisho_answers_delivered_total"]);
  });

  it("counts no task for a message that was not for the bot", () => {
    const { previousTask, task } = endWith(undefined);
    expect(countMetrics({ previousTask, event: wokenEvent, task }).map(([name]) => name)).toEqual([
      "sekisho_stage_seconds",
    ]);
  });

  it.each<[TaskOutcome, string, string, string | undefined]>([
    [{ type: "failed", reason: "timeout", lost: false }, "failed", "timeout", undefined],
    [{ type: "failed", reason: "execution_failed", lost: true }, "failed", "lost", undefined],
    [{ type: "failed", reason: "canceled", lost: false }, "canceled", "canceled", undefined],
    [{ type: "refused" }, "refused", "none", "not_allowed"],
    [{ type: "limited", by: "channel" }, "limited", "channel", "limited_by_channel"],
    [
      { type: "file_refused", why: "too_large", name: "a secret name.pdf" },
      "file_refused",
      "too_large",
      "file_too_large",
    ],
    [{ type: "too_old" }, "too_old", "none", "too_old"],
    [{ type: "unanswered" }, "unanswered", "none", undefined],
  ])(
    "counts the outcome %j as %s with the reason %s and the refusal %s",
    (outcome, name, reason, kind) => {
      const all = countMetrics(endWith(outcome));
      expect(all).toContainEqual([
        "sekisho_tasks_total",
        { outcome: name, reason, destination: "far" },
        1,
      ]);
      const refusals = all.filter(([metric]) => metric === "sekisho_refusals_total");
      expect(refusals).toEqual(kind === undefined ? [] : [["sekisho_refusals_total", { kind }, 1]]);
    },
  );

  it.each([
    ["agent_not_found", "no_route"],
    ["rate_limited", "thread_full"],
  ] as const)("counts %s before the announcement as the refusal %s", (reason, kind) => {
    const all = countMetrics(
      endWith({ type: "failed", reason, lost: false }, { placeholder: undefined }),
    );
    expect(all).toContainEqual(["sekisho_refusals_total", { kind }, 1]);
  });

  it("counts an answer that cannot be posted as undelivered with the reason", () => {
    const event: TaskEvent = {
      type: "slack_failed",
      nowMs: askedAtMs,
      act: "deliver",
      kind: "gone",
    };
    const step = endWith({ type: "answer", text: "" });
    const all = countMetrics({
      ...step,
      task: { ...step.task, delivery: { status: "given_up" } },
      event,
    });
    expect(all).toContainEqual(["sekisho_answers_undelivered_total", { reason: "gone" }, 1]);
    expect(all.map(([name]) => name)).not.toContain("sekisho_answers_delivered_total");
  });
});

describe("a task under way", () => {
  it("measures the wait in the queue at the first wake-up only", () => {
    const previousTask = sampleTask();
    const wait: Counted = ["sekisho_queue_wait_seconds", {}, 0.25];
    expect(countMetrics({ previousTask, event: wokenEvent, task: previousTask })).toEqual([wait]);
    expect(
      countMetrics({
        previousTask,
        event: { ...wokenEvent, workerDied: true },
        task: previousTask,
      }),
    ).toEqual([]);
    expect(
      countMetrics({
        previousTask: { ...previousTask, attempts: 1 },
        event: wokenEvent,
        task: previousTask,
      }),
    ).toEqual([]);
    const overheard = { ...previousTask, message: sampleAsk({ unaddressed: true }).message };
    expect(countMetrics({ previousTask: overheard, event: wokenEvent, task: overheard })).toEqual(
      [],
    );
  });

  it("measures a stage from its beginning, even if people asked for something meanwhile", () => {
    const wish = at("sent", 3, "cancel_asked");
    const previousTask = sampleTask({ state: "sent", history: [...history.slice(0, 3), wish] });
    const task: Task = {
      ...previousTask,
      state: "waiting",
      history: [...previousTask.history, at("waiting", 9, "answered")],
    };
    expect(countMetrics({ previousTask, event: wokenEvent, task })).toEqual([
      ["sekisho_stage_seconds", { stage: "sent" }, 7],
    ]);
  });

  it("measures a stage as zero seconds if a slower clock wrote its end", () => {
    const previousTask = sampleTask({ state: "received" });
    const task: Task = {
      ...previousTask,
      state: "announced",
      history: [...previousTask.history, at("announced", -5)],
    };
    expect(countMetrics({ previousTask, event: { type: "thread_held" }, task })).toEqual([
      ["sekisho_stage_seconds", { stage: "received" }, 0],
    ]);
  });

  it("counts a poll by its result", () => {
    const previousTask = sampleTask({ state: "waiting", call: sampleCall({ destination: "far" }) });
    const error = {
      reason: "unavailable",
      certainty: "undelivered",
      lost: false,
    } as const;
    const failedPoll: TaskEvent = { type: "call_failed", nowMs: askedAtMs, act: "poll", error };
    const result = { status: "accepted", task_id: "t" } as const;
    const fine: TaskEvent = { type: "answered", nowMs: askedAtMs, act: "poll", result };
    const polls = [failedPoll, fine, { ...fine, act: "send" as const }].flatMap((event) =>
      countMetrics({ previousTask, event, task: previousTask }),
    );
    expect(polls).toEqual([
      ["sekisho_polls_total", { destination: "far", result: "unavailable" }, 1],
      ["sekisho_polls_total", { destination: "far", result: "accepted" }, 1],
    ]);
  });

  it("counts the tokens of an answer once when it arrives", () => {
    const previousTask = sampleTask({ state: "sent", call: sampleCall({ destination: "far" }) });
    const task: Task = {
      ...previousTask,
      outcome: { type: "answer", text: "", tokens: { input: 12, output: 3, total: 15 } },
    };
    expect(countMetrics({ previousTask, event: wokenEvent, task })).toEqual([
      ["sekisho_tokens_total", { destination: "far", direction: "input" }, 12],
      ["sekisho_tokens_total", { destination: "far", direction: "output" }, 3],
    ]);
    expect(countMetrics({ previousTask: task, event: wokenEvent, task })).toEqual([]);
  });
});
