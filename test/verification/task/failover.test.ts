/** Where a task goes when its destination cannot be reached: to the next one of its route, but never once it may have arrived. */
import { describe, expect, it } from "@jest/globals";
import { takeAnswer } from "@sekisho/verification/task/asking.ts";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import type { Policy } from "@sekisho/verification/task/routing.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";
import {
  accepted,
  ambiguous,
  asking,
  failure,
  lookedUp,
  nowMs,
  play,
  success,
  toSent,
  woken,
  workerDied,
} from "./play.ts";
import { sampleCall, samplePolicy, sampleRoute, sampleTask } from "./sample.ts";

const undelivered = failure({ reason: "unavailable", certainty: "undelivered" });

/** A bare 503, or a host that says that it may have stored the task. */
const refusal = failure({ reason: "unavailable" });
type Known = { known?: string[]; deadlineMs?: number; address?: string };

function policyOf(
  route: string[],
  { known: knownNames = ["first", "second", "third"], ...destination }: Known = {},
): Policy {
  const sample = samplePolicy(destination);
  const policy = sample.destinations.get("host");
  if (policy === undefined) throw new Error("the sample has no destination");
  const routesOf: Policy["routesOf"] = ({ text }) => [sampleRoute({ text, destinations: route })];
  return { ...sample, routesOf, destinations: new Map(knownNames.map((name) => [name, policy])) };
}

const policy = policyOf(["first", "second"]);

/** Where the task is after each failure and how long it waits for that, the clock going on with it. */
function wayOf(failures: ReturnType<typeof failure>[]) {
  let { task } = play(toSent, { policy });
  let atMs = nowMs;
  const way = failures.map((each) => {
    const failedStep = play([{ ...each, nowMs: atMs }], { policy, task });
    const [wake] = failedStep.last;
    const delayMs = wake?.type === "wake" ? wake.delayMs : Number.NaN;
    atMs += delayMs;
    task = play([{ ...woken, nowMs: atMs }], { policy, task: failedStep.task }).task;
    return [task.call?.destination, delayMs];
  });
  return { task, way };
}

describe("an undelivered task", () => {
  it("sends an undelivered task to the next destination of its route at once and records that first", () => {
    const movedStep = play([...toSent, undelivered], { policy });
    expect(movedStep.task).toMatchObject({
      state: "sent",
      call: { destination: "second", arrival: "none" },
    });
    expect(movedStep.last).toEqual([{ type: "wake", delayMs: 0 }]);
    const next = play([woken], { policy, task: movedStep.task });
    expect(next.last).toEqual([{ type: "send" }]);
    expect(play([success], { policy, task: next.task }).task.outcome).toEqual({
      type: "answer",
      text: "A checkpoint.",
    });
  });

  it("keeps the deadline at the next destination, with a new session if that one stops sessions", () => {
    const ending = new Map(policy.destinations);
    const plain = ending.get("second");
    if (plain !== undefined) ending.set("second", { ...plain, stopAfterResult: true });
    const atMs = nowMs + 20_000;
    const late = [
      { ...undelivered, nowMs: atMs },
      { ...woken, nowMs: atMs },
    ];
    const { task } = play([...toSent, ...late], { policy: { ...policy, destinations: ending } });
    const sentTask = play(toSent, { policy }).task;
    expect(task.call?.params).toMatchObject({
      text: sentTask.call?.params?.text,
      timeout_ms: 40_000,
      session_id: task.call?.sessionId,
    });
    expect(task.call?.sessionId).not.toBe(sentTask.call?.sessionId);
    expect(task.call?.deadlineAtMs).toBe(sentTask.call?.deadlineAtMs);
  });

  it("returns to the first destination after a full round and waits longer after each round", () => {
    const { way } = wayOf(Array.from({ length: 6 }, () => undelivered));
    expect(way).toEqual([
      ["second", 0],
      ["first", 1000],
      ["second", 0],
      ["first", 2000],
      ["second", 0],
      ["first", 4000],
    ]);
  });

  it("obeys the Retry-After of one destination without delaying a send to another one", () => {
    const busy = failure({
      reason: "unavailable",
      certainty: "undelivered",
      retryAfterMs: 30_000,
    });
    expect(wayOf([busy, undelivered, undelivered, undelivered]).way).toEqual([
      ["second", 0],
      ["second", 1000],
      ["second", 2000],
      ["second", 4000],
    ]);
  });

  it("tries each destination as often as a single one, even if another one asks for long delays", () => {
    const patient = policyOf(["first", "second"], { deadlineMs: 8 * 3600_000 });
    const busy = failure({
      reason: "unavailable",
      certainty: "undelivered",
      retryAfterMs: 15 * 60_000,
    });
    let { task } = play(toSent, { policy: patient });
    let atMs = nowMs;
    const tries: Record<string, number> = { first: 0, second: 0 };
    while (task.state === "sent") {
      const { destination } = task.call ?? sampleCall();
      tries[destination] = (tries[destination] ?? 0) + 1;
      const failedStep = play(
        [{ ...(destination === "first" ? busy : undelivered), nowMs: atMs }],
        {
          policy: patient,
          task,
        },
      );
      const [wake] = failedStep.last;
      atMs += wake?.type === "wake" ? wake.delayMs : 0;
      task =
        failedStep.task.state === "sent"
          ? play([{ ...woken, nowMs: atMs }], { policy: patient, task: failedStep.task }).task
          : failedStep.task;
    }
    expect(tries).toEqual({ first: 8, second: 8 });
  });

  it.each([[["first", "second"]], [["first"]]])(
    "limits the wait for a retry to the deadline, with the route %j",
    (route) => {
      const busy = failure({
        reason: "unavailable",
        certainty: "undelivered",
        retryAfterMs: 15 * 60_000,
      });
      const short = policyOf(route);
      const events = route.length === 1 ? [busy] : [busy, woken, busy];
      expect(play([...toSent, ...events], { policy: short }).last).toEqual([
        { type: "wake", delayMs: 60_000 },
      ]);
    },
  );

  it("keeps the destination of a task when its route moves, until that destination is removed", () => {
    const { task } = play(toSent, { policy: policyOf(["first"]) });
    const again = play([undelivered], { policy: policyOf(["third"]), task });
    expect(again.task.call?.destination).toBe("first");
    const history = [{ role: "assistant" as const, text: "An answer of the first." }];
    const { call } = again.task;
    const taskWithHistory = {
      ...again.task,
      call: call && { ...call, params: call.params && { ...call.params, history } },
    };
    const movedStep = play([woken], {
      policy: policyOf(["third"], { known: ["third"] }),
      task: taskWithHistory,
    });
    expect(movedStep.task.call).toMatchObject({
      destination: "third",
      params: { text: task.message.text },
    });
    expect(movedStep.task.call?.params).not.toHaveProperty("history");
    expect(movedStep.task.route).toMatchObject({ change: { reason: "gone", isAnew: true } });
  });

  it("follows the current route for a record of version 1.0.0", () => {
    const { route: _route, ...task } = play(toSent, { policy: policyOf(["first"]) }).task;
    expect(play([undelivered], { policy: policyOf(["third"]), task }).task.call?.destination).toBe(
      "third",
    );
  });

  it("keeps the destination when its route names no other destination that exists", () => {
    for (const alone of [
      policyOf(["first"]),
      policyOf(["first", "second"], { known: ["first"] }),
    ]) {
      const { task, last } = play([...toSent, undelivered], { policy: alone });
      expect(task.call?.destination).toBe("first");
      expect(last).toEqual([{ type: "wake", delayMs: 1000 }]);
    }
  });
});

describe("a destination with an invalid agent card", () => {
  it("skips a destination with an unreadable agent card, since nothing was sent there", () => {
    const noCard = failure({ reason: "invalid_response", certainty: "undelivered" });
    expect(play([...toSent, noCard], { policy }).task.call?.destination).toBe("second");
  });
});

describe("a task that may have arrived", () => {
  it.each([
    ["an ambiguous send", [ambiguous]],
    ["a refusal that does not prove non-delivery, such as a bare 503", [refusal]],
    [
      "an ambiguous send before one that certainly did not arrive",
      [ambiguous, lookedUp(failure({ reason: "task_not_found" })), undelivered],
    ],
    [
      "a refusal that does not prove non-delivery, followed by an undelivered attempt",
      [refusal, woken, undelivered],
    ],
    ["an answer that breaks the contract", [failure({ reason: "invalid_response" })]],
    ["a busy peer", [failure({ reason: "rate_limited" })]],
  ])("keeps the destination after %s", (_what, events) => {
    expect(play([...toSent, ...events], { policy }).task.call?.destination).toBe("first");
  });

  it("keeps the destination after a worker died while sending, even after later undelivered tries", () => {
    const { task } = play(
      [...toSent, workerDied, lookedUp(undelivered), woken, lookedUp(undelivered)],
      {
        policy,
      },
    );
    expect(task).toMatchObject({ call: { destination: "first", arrival: "in_doubt" } });
  });

  it("keeps the destination of an accepted task even if it cannot be reached later", () => {
    const { task } = play([...toSent, accepted, woken, { ...undelivered, act: "poll" }], {
      policy,
    });
    expect(task).toMatchObject({ state: "waiting", call: { destination: "first" } });
  });

  it("keeps a second destination once a send to it is in doubt", () => {
    const { task } = play([...toSent, undelivered, woken, refusal, woken, undelivered], { policy });
    expect(task).toMatchObject({ call: { destination: "second", arrival: "refused" } });
  });
});

describe("a destination with a new address", () => {
  const editedPolicy = policyOf(["first"], { address: "elsewhere" });

  it("sends an undelivered task to the new address of its destination", () => {
    expect(play([...toSent, undelivered], { policy }).task.call?.address).toBe("there");
    const { task, last } = play([woken], {
      policy: editedPolicy,
      task: play([...toSent, undelivered], { policy: policyOf(["first"]) }).task,
    });
    expect([task.call?.address, last]).toEqual(["elsewhere", [{ type: "send" }]]);
  });

  it.each([
    ["ambiguous", [ambiguous]],
    ["possibly stored", [refusal]],
  ])(
    "polls a task that is %s at the new address and never sends it there if it is unknown",
    (_what, events) => {
      const { task } = play([...toSent, ...events], { policy });
      const pollStep = play([woken], { policy: editedPolicy, task });
      expect(pollStep.last).toEqual([{ type: "poll", by: "request_id" }]);
      const unknown = lookedUp(failure({ reason: "task_not_found" }));
      expect(
        play([unknown], { policy: editedPolicy, task: pollStep.task }).task.outcome,
      ).toMatchObject({
        reason: "ambiguous",
      });
    },
  );

  it("treats an accepted task as ambiguous when the new address of its destination does not know it", () => {
    const unknown = {
      ...failure({ reason: "task_not_found" }),
      act: "poll" as const,
    };
    const waiting = play([...toSent, accepted, woken], { policy: policyOf(["first"]) }).task;
    expect(play([unknown], { policy: editedPolicy, task: waiting }).task.outcome).toMatchObject({
      reason: "ambiguous",
    });
    const cancelingTask = play([{ type: "cancel_asked", nowMs, workerDied: false }], {
      policy: editedPolicy,
      task: waiting,
    }).task;
    expect(
      play([{ ...unknown, act: "cancel" }], { policy: editedPolicy, task: cancelingTask }).task
        .outcome,
    ).toMatchObject({
      reason: "ambiguous",
    });
    const same = policyOf(["first"]);
    expect(
      play([{ ...unknown, act: "cancel" }], { policy: same, task: cancelingTask }).task.outcome,
    ).toMatchObject({
      reason: "canceled",
    });
  });

  it("keeps a task ambiguous at its deadline if the old address may have stored it", () => {
    const { task } = play([...toSent, refusal], { policy: policyOf(["first"]) });
    const late = { ...woken, nowMs: nowMs + 61_000 };
    expect(play([late], { policy: editedPolicy, task }).task.outcome).toMatchObject({
      reason: "ambiguous",
    });
    expect(play([late], { policy: policyOf(["first"]), task }).task.outcome).toMatchObject({
      reason: "unavailable",
    });
  });

  it("stores a readable record when the destination changes while the thread is read", () => {
    const changedPolicy = policyOf(["second"], { known: ["second"] });
    const message = { ...sampleTask().message, threadTs: "1.1" };
    const reading = play(toSent, { policy, task: sampleTask({ message }) });
    expect(reading.last).toEqual([{ type: "prepare" }]);
    const preparedStep = play([{ type: "prepared", context: {} }], {
      policy: changedPolicy,
      task: reading.task,
    });
    const storedTask = taskSchema.parse(JSON.parse(JSON.stringify(preparedStep.task)));
    const { task, last } = play([woken], { policy: changedPolicy, task: storedTask });
    expect(task.call).toMatchObject({ destination: "second", params: { timeout_ms: 60_000 } });
    expect(last).toEqual([{ type: "send" }]);
  });
});

describe("a task that waits for its turn", () => {
  it("follows the current route when the destination of a queued task is gone", () => {
    const placeholder = { ts: "1.1", postedAtMs: nowMs };
    const queuedTask = sampleTask({
      state: "queued",
      call: sampleCall({ destination: "gone" }),
      placeholder,
    });
    expect(play([woken], { policy, task: queuedTask }).task).toMatchObject({
      state: "announced",
      call: { destination: "first" },
    });
  });
});

const ending = failure({ reason: "session_ending", certainty: "undelivered" });
const unknown = lookedUp(failure({ reason: "task_not_found" }));

describe("a session that refuses a task because it is ending", () => {
  it("moves a task to a session of its own after session_ending and records it before sending", () => {
    const sentTask = play(toSent).task;
    const { task, last } = play([ending], { task: sentTask });
    expect(task.state).toBe("sent");
    expect(task.call?.sessionId).not.toBe(sentTask.call?.sessionId);
    expect(taskSchema.parse(task).call?.sessionId).toBe(task.call?.sessionId);
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
    const next = play([woken], { task });
    expect(next.last).toEqual([{ type: "send" }]);
    expect(next.task.call?.sessionId).toBe(task.call?.sessionId);
    // The host knows the repetition by what it says, and the agent knows its conversation.
    expect(next.task.call?.params).toEqual(sentTask.call?.params);
    expect(next.task.call?.params?.session_id).toBe(sentTask.call?.sessionId);
  });

  it("counts session_ending as no failure and keeps polling in the new session", () => {
    const { task } = play([...toSent, ending, woken, accepted, woken]);
    expect(task).toMatchObject({
      state: "waiting",
      attempts: 0,
      call: { arrival: "none", ownSessions: 1 },
    });
    expect(task.call?.sessionId).toBe(play([...toSent, ending]).task.call?.sessionId);
    expect(play([{ ...success, act: "poll" }], { task }).task.outcome).toMatchObject({
      type: "answer",
    });
  });

  it("uses the session of the thread again for the next task", () => {
    const first = play(toSent).task;
    play([ending], { task: first });
    const id = "1d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
    const { message } = sampleTask();
    const reply = sampleTask({
      id,
      message: { ...message, ts: "1760000100.000100", threadTs: message.ts },
    });
    expect(play(toSent, { task: reply }).task.call?.sessionId).toBe(first.call?.sessionId);
  });

  it("fails a task when a new session refuses it too", () => {
    const { task, last } = play([...toSent, ending, woken, ending]);
    expect(task.outcome).toEqual({ type: "failed", reason: "session_ending", lost: false });
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
  });

  it("polls again before it sends to the new session if an earlier send is in doubt", () => {
    const steps = play([...toSent, ambiguous, woken, unknown, ending, woken]);
    expect(steps.last).toEqual([{ type: "poll", by: "request_id" }]);
    expect(play([unknown], { task: steps.task }).last).toEqual([{ type: "send" }]);
    expect(steps.task.call?.ownSessions).toBe(1);
  });

  it("gets another own session at another destination of the route", () => {
    const stayed = play([...toSent, ending, woken], { policy });
    expect(stayed.task.call?.destination).toBe("first");
    const movedStep = play([undelivered, woken], { policy, task: stayed.task });
    expect(movedStep.task).toMatchObject({
      call: { destination: "second", sessionId: play(toSent, { policy }).task.call?.sessionId },
    });
    expect(play([ending], { policy, task: movedStep.task }).task).toMatchObject({
      state: "sent",
      call: { ownSessions: 1 },
    });
  });

  describe("a session failure with another destination in the route", () => {
    it("moves a task to the next destination after a new session refused it as well, and never back", () => {
      const { task, last } = play([...toSent, ending, woken, ending], { policy });
      expect(task).toMatchObject({
        state: "sent",
        call: { destination: "second", arrival: "none" },
      });
      expect(task.call?.sessionId).toBe(play(toSent, { policy }).task.call?.sessionId);
      expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
      expect(play([woken, accepted], { policy, task }).task).toMatchObject({
        state: "waiting",
        call: { destination: "second" },
      });
      expect(play([woken, undelivered], { policy, task }).task.call?.destination).toBe("second");
    });

    it("keeps the destination after session_ending once an earlier try may have arrived", () => {
      const { task } = play(
        [...toSent, ambiguous, woken, unknown, ending, woken, unknown, ending],
        {
          policy,
        },
      );
      expect(task).toMatchObject({
        call: { destination: "first" },
        outcome: { type: "failed", reason: "ambiguous" },
      });
    });
  });

  it.each([true, false])(
    "gives each task a session of its own, with stopAfterResult %s",
    (stopAfterResult) => {
      const policy = samplePolicy({ stopAfterResult });
      const first = play(toSent, { policy }).task.call?.sessionId;
      const other = play([...toSent, ending], { policy }).task.call?.sessionId;
      const { task } = play([...toSent, ending, woken, accepted], { policy });
      const ids = new Set([
        first,
        other,
        play([...toSent, ending], { policy, task: sampleTask({ id: task.thread }) }).task.call
          ?.sessionId,
      ]);
      expect(ids.size).toBe(3);
    },
  );
});

describe("a session that refuses a reply", () => {
  const questionAsked: TaskEvent = { type: "question_asked", nowMs, ts: "2.1" };
  const questionShown: TaskEvent = { type: "question_shown", nowMs };
  const endingAnswer = { ...ending, act: "answer" } as const;

  function playAnswer(events: readonly TaskEvent[]) {
    const open = play(events).task;
    const answer = { user: "U1", atMs: nowMs + 5000, option: 0, callId: "call-1" };
    const answerResult = takeAnswer({ task: open, answer, nowMs: nowMs + 5000 });
    if ("notTaken" in answerResult) throw new Error(`not taken: ${answerResult.notTaken.type}`);
    return play([woken, questionShown], { task: answerResult.task });
  }

  it("sends a refused answer to a new session under the same id, even after an earlier new session", () => {
    for (const firstEvents of [[], [ending, woken]]) {
      const { task, last } = playAnswer([
        ...toSent,
        ...firstEvents,
        asking({}, { act: "send" }),
        woken,
        questionAsked,
      ]);
      expect(last).toEqual([{ type: "answer" }]);
      const movedStep = play([endingAnswer, woken, questionShown], { task });
      expect(movedStep.last).toEqual([{ type: "answer" }]);
      expect(movedStep.task.call?.sessionId).not.toBe(task.call?.sessionId);
      expect(movedStep.task.question).toEqual(task.question);
      const endedStep = play([endingAnswer], { task: movedStep.task });
      expect(endedStep.task.outcome).toMatchObject({ type: "failed", reason: "session_ending" });
      expect(endedStep.last).toEqual([{ type: "cancel" }]);
    }
  });
});
