/** The state machine where it is kept: no change of a record makes a forbidden transition, and a request for one is told so. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Cards } from "@sekisho/execution/a2a/cards.ts";
import {
  answerChange,
  cancelChange,
  endChange,
  enterState,
  expiryChange,
  listRecordsBetween,
  lossChange,
  questionChange,
  renewChange,
  reportChange,
  requeueChange,
  startChange,
  type TaskChange,
  voteChange,
} from "@sekisho/execution/tasks/changes.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { createChangeTask, createTaskSignal } from "@sekisho/execution/tasks/task-store.ts";
import { a2aState, stateNames, transitions, zoneState } from "../../contracts/transition-table.ts";
import { createTestHost, memoryStore, type TestHost } from "../test-host.ts";
import { recordOf } from "./records.ts";

const nowMs = 2_000_000_000_000;
const owner = "me";
const expiresAtMs = nowMs + 1000;
const question = { prompt: "Which one?", messageId: "m-1" };

/** A record in a state of the table, as the host would have stored it; `lease` where somebody works on it. */
function record({ name, lease }: { name: string; lease?: ExecutionTask["lease"] }): ExecutionTask {
  const state = zoneState(name);
  return {
    id: randomUUID(),
    revision: 1,
    state,
    principal: "anyone",
    requestId: randomUUID(),
    correlationId: "c-1",
    fingerprint: "f",
    trace: { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` },
    createdAtMs: 0,
    changedAtMs: 0,
    deadlineAtMs: nowMs,
    expiresAtMs,
    params: { channel: "C1", text: "t" },
    ...(state === "input_required" && {
      question: { ...question, ...(name === "auth" && { kind: "auth" as const }) },
    }),
    ...(lease && state === "working" && { lease }),
  };
}

const changes: Readonly<Record<string, TaskChange>> = {
  start: startChange({ owner, untilMs: nowMs }),
  requeue: requeueChange({ nowMs, everyMs: 1000 }),
  renew: renewChange({ owner, untilMs: nowMs }),
  report: reportChange({ owner, news: { progress: { percent: 1 } } }),
  ask: questionChange({ owner, question, expiresAtMs }),
  "ask for credentials": questionChange({
    owner,
    question: { ...question, kind: "auth" },
    expiresAtMs,
  }),
  answer: answerChange({
    answer: { id: "a-1", fingerprint: "f", prompt: "", text: "this" },
    nowMs,
    retentionMs: 0,
  }),
  "end well": endChange({ owner, outcome: { type: "success", text: "done" }, expiresAtMs }),
  fail: endChange({ owner, outcome: { type: "failure", reason: "execution_failed" }, expiresAtMs }),
  reject: endChange({ owner, outcome: { type: "failure", reason: "plan_error" }, expiresAtMs }),
  expire: expiryChange({ nowMs, expiresAtMs }),
  "give up": lossChange({ nowMs, lostAfterMs: 1000, expiresAtMs }),
  cancel: cancelChange({ expiresAtMs }),
};

const leases = [undefined, { owner, untilMs: 0 }, { owner: "another", untilMs: 0 }];
type Asked = { wish: "cancel" | "answer"; task: ExecutionTask; call: TestHost["call"] };

function nameOf({ state, question }: ExecutionTask): string {
  return question?.kind ?? state;
}

describe("a change of a task's record", () => {
  const made = new Set<string>();

  it.each(stateNames.flatMap((from) => Object.keys(changes).map((name) => ({ from, name }))))(
    "makes only allowed transitions from $from by the change $name",
    ({ from, name }) => {
      for (const lease of leases) {
        const next = changes[name]?.(record({ name: from, ...(lease && { lease }) }));
        if (next === undefined || nameOf(next) === from) continue;
        made.add(`${from} > ${nameOf(next)}`);
        expect(transitions).toContainEqual({ from, to: nameOf(next), may: true });
      }
    },
  );

  it("makes every allowed transition that an agent can cause", () => {
    const may = transitions
      .filter((transition) => transition.may)
      .map(({ from, to }) => `${from} > ${to}`);
    const never = ["submitted > failed", "submitted > rejected"];
    const straightFromQuestion = ["input_required", "auth"].flatMap((from) => [
      `${from} > completed`,
      `${from} > rejected`,
    ]);
    expect([...made].sort()).toEqual(
      may.filter((each) => ![...never, ...straightFromQuestion].includes(each)).sort(),
    );
  });
});

async function hostWith(name: string) {
  const store = memoryStore(() => nowMs - 1);
  const task = record({ name, lease: { owner: "another", untilMs: nowMs } });
  await store.create({ item: task });
  const queueOptions = { taskQueue: { send: async () => {} }, now: () => nowMs - 1 };
  const { call } = createTestHost({
    store,
    syncBudgetMs: 0,
    a2a: { cards: noCards },
    ...queueOptions,
  });
  return { task, call };
}

const noCards: Cards = {
  endpoint: () => ({ status: 404, headers: {}, body: "" }),
  extended() {
    throw new Error("not asked for");
  },
};

/** Who asks a task to go where, and whether it may. What has not begun may begin to work, but not by an answer: nothing was asked. */
const wishes = [
  ...stateNames
    .filter((from) => from !== "canceled")
    .map(
      (from) =>
        ({
          wish: "cancel",
          from,
          to: "canceled",
          granted: mayGo({ from, to: "canceled" }),
        }) as const,
    ),
  ...stateNames.map(
    (from) =>
      ({
        wish: "answer",
        from,
        to: "working",
        granted: zoneState(from) === "input_required",
      }) as const,
  ),
];

const grantedWishes = wishes.filter((each) => each.granted);
const forbidden = wishes.filter((each) => !each.granted);

function mayGo({ from, to }: { from: string; to: string }): boolean {
  return transitions.some((each) => each.may && each.from === from && each.to === to);
}

describe("a request of the zone contract for a transition", () => {
  const ask = ({ wish, task, call }: Asked) =>
    wish === "cancel"
      ? call("cancel_task", { task_id: task.id })
      : call("answer_task", { task_id: task.id, text: "this" });

  it.each(grantedWishes)("grants the change from $from to $to", async ({ wish, from, to }) => {
    const { task, call } = await hostWith(from);
    const { result } = await ask({ wish, task, call });
    expect(result).toMatchObject({
      task_id: task.id,
      status: to === "canceled" ? "canceled" : "accepted",
    });
  });

  it.each(forbidden)(
    "refuses the change from $from to $to with invalid_state and both states",
    async ({ wish, from, to }) => {
      const { task, call } = await hostWith(from);
      const { error } = await ask({ wish, task, call });
      expect(error).toMatchObject({
        code: -32063,
        data: {
          reason: "invalid_state",
          retryable: false,
          task_id: task.id,
          current: zoneState(from),
          target: to,
        },
      });
    },
  );

  it("grants to cancel a canceled task again", async () => {
    const { task, call } = await hostWith("canceled");
    const { result } = await ask({ wish: "cancel", task, call });
    expect(result).toEqual({ status: "canceled", task_id: task.id });
  });
});

describe.each(["1.0", "0.3"])("a request of A2A %s for a transition", (version) => {
  const isNew = version === "1.0";
  const options = { path: "/a2a", headers: { "a2a-version": version } };
  const ask = ({ wish, task, call }: Asked) => {
    if (wish === "cancel")
      return call(isNew ? "CancelTask" : "tasks/cancel", { id: task.id }, options);
    const common = { messageId: randomUUID(), taskId: task.id };
    return isNew
      ? call(
          "SendMessage",
          { message: { ...common, role: "ROLE_USER", parts: [{ text: "this" }] } },
          options,
        )
      : call(
          "message/send",
          { message: { ...common, role: "user", parts: [{ kind: "text", text: "this" }] } },
          options,
        );
  };

  it.each(grantedWishes)("grants the change from $from to $to", async ({ wish, from, to }) => {
    const { task, call } = await hostWith(from);
    const { result } = await ask({ wish, task, call });
    const state = isNew ? a2aState(to) : to;
    const shownTask = { id: task.id, status: { state } };
    expect(result).toMatchObject(wish === "answer" && isNew ? { task: shownTask } : shownTask);
  });

  it.each(forbidden)(
    "refuses the change from $from to $to with the code of its operation and both states",
    async ({ wish, from, to }) => {
      const { task, call } = await hostWith(from);
      const { error } = await ask({ wish, task, call });
      const [code, reason] =
        wish === "cancel" ? [-32002, "TASK_NOT_CANCELABLE"] : [-32004, "UNSUPPORTED_OPERATION"];
      const details = { task_id: task.id, current: zoneState(from), target: to };
      expect(error).toMatchObject({ code });
      expect(error?.data).toMatchObject(
        isNew
          ? [
              { domain: "a2a-protocol.org", reason, metadata: { taskId: task.id } },
              { domain: "sekisho", reason: "INVALID_STATE", metadata: details },
            ]
          : { reason: "invalid_state", ...details },
      );
    },
  );

  it("grants to cancel a canceled task again", async () => {
    const { task, call } = await hostWith("canceled");
    const { result } = await ask({ wish: "cancel", task, call });
    expect(result).toMatchObject({
      id: task.id,
      status: { state: isNew ? a2aState("canceled") : "canceled" },
    });
  });
});

it("keeps the last ten states that an A2A task left, so that its record stays bounded", () => {
  let from = recordOf({ changedAtMs: nowMs });
  for (let count = 1; count <= 12; count += 1)
    from = enterState({ from, task: from, nowMs: nowMs + count });
  expect(from.a2a?.passed?.map(({ atMs }) => atMs - nowMs)).toEqual([
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
  ]);
});

describe("a change at its limit", () => {
  const unstarted = record({ name: "submitted" });
  const working = record({ name: "working", lease: { owner, untilMs: 5000 } });
  const completedWith = (votes: NonNullable<ExecutionTask["votes"]>) => ({
    ...record({ name: "completed" }),
    votes,
  });
  const vote = { voterId: "kim", vote: "up", atMs: 1000 } as const;

  it.each<[string, TaskChange, ExecutionTask, boolean]>([
    [
      "sends no wake-up copy at the last moment of the gap",
      requeueChange({ nowMs: 1000, everyMs: 1000 }),
      unstarted,
      false,
    ],
    [
      "sends a wake-up copy at the first moment after the gap",
      requeueChange({ nowMs: 1001, everyMs: 1000 }),
      unstarted,
      true,
    ],
    [
      "keeps a task at the last moment in which its owner may return",
      lossChange({ nowMs: 5999, lostAfterMs: 1000, expiresAtMs }),
      working,
      false,
    ],
    [
      "gives up a task at the first moment in which its owner may no longer return",
      lossChange({ nowMs: 6000, lostAfterMs: 1000, expiresAtMs }),
      working,
      true,
    ],
    [
      "ignores a vote of the same time",
      voteChange({ ...vote, vote: "down" }),
      completedWith([vote]),
      false,
    ],
    [
      "records a vote with a later time",
      voteChange({ ...vote, vote: "down", atMs: 1001 }),
      completedWith([vote]),
      true,
    ],
  ])("%s", (_title, change, task, changes) => {
    expect(change(task) !== undefined).toBe(changes);
  });

  it.each([
    [5000, 5000],
    [0, 0],
    [-1, 0],
  ])("moves the deadline for a question that was open for %i ms by %i ms", (openMs, movedMs) => {
    const task = { ...record({ name: "input_required" }), changedAtMs: 9000 };
    const answer = { id: "a", fingerprint: "f", prompt: "", text: "yes" };
    const next = answerChange({ answer, nowMs: 9000 + openMs, retentionMs: 0 })(task);
    expect(next?.deadlineAtMs).toBe(task.deadlineAtMs + movedMs);
  });

  it("keeps the votes of the last hundred people", () => {
    const votes = Array.from({ length: 100 }, (_, at) => ({ ...vote, voterId: `person ${at}` }));
    const next = voteChange(vote)(completedWith(votes));
    expect(next?.votes?.map(({ voterId }) => voterId)).toEqual([
      ...votes.slice(1).map(({ voterId }) => voterId),
      "kim",
    ]);
  });
});

const begin = startChange({ owner, untilMs: Number.MAX_SAFE_INTEGER });

const answerWith = (id: string) =>
  answerChange({
    answer: { id, fingerprint: id, prompt: "", text: "yes" },
    nowMs: 0,
    retentionMs: 0,
  });

const life: readonly TaskChange[] = [
  begin,
  reportChange({ owner, news: { progress: { text: "half" } } }),
  questionChange({ owner, question: { prompt: "Shall I?", messageId: "q1" }, expiresAtMs: 0 }),
  answerWith("a1"),
  begin,
  questionChange({
    owner,
    question: { prompt: "Sign in.", messageId: "q2", kind: "auth" },
    expiresAtMs: 0,
  }),
  answerWith("a2"),
  begin,
  endChange({
    owner,
    outcome: { type: "success", text: "done" },
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  }),
];

/** Every record of the task's life as it is stored; all changes fall into one millisecond or each into its own. */
async function recordsOf({
  ticks,
  changes = life,
}: {
  ticks: boolean;
  changes?: readonly TaskChange[];
}) {
  let nowMs = 1_800_000_000_000;
  const store = memoryStore(() => 0);
  const change = createChangeTask({
    store,
    changeSignal: createTaskSignal(),
    now: () => (ticks ? nowMs++ : nowMs),
  });
  const expiresAtMs = Number.MAX_SAFE_INTEGER;
  const { lease: _lease, ...fresh } = recordOf({ state: "submitted", expiresAtMs });
  const records = [await store.create({ item: fresh })].filter((record) => record !== undefined);
  for (const next of changes) {
    const { task } = await change({ task: records.at(-1) ?? fresh, change: next });
    if (task !== undefined) records.push(task);
  }
  return records;
}

function statesOf(records: readonly ExecutionTask[]): string[] {
  const shownRecords = records.flatMap((next, index) => {
    const previous = records[index - 1];
    return previous === undefined
      ? [next]
      : listRecordsBetween({ previousTask: previous, nextTask: next });
  });
  const states = shownRecords.map(({ state, question }) =>
    [state, question?.prompt].join(" ").trim(),
  );
  return states.filter((state, index) => state !== states[index - 1]);
}

describe("a follower of a task", () => {
  it("reports every state and question between the first and the last record", async () => {
    const records = await recordsOf({ ticks: true });
    const all = statesOf(records);
    expect(all).toEqual([
      ...[
        "submitted",
        "working",
        "input_required Shall I?",
        "working",
        "input_required Sign in.",
        "working",
      ],
      "completed",
    ]);
    for (let mask = 0; mask < 2 ** (records.length - 2); mask += 1) {
      const seenRecords = records.filter(
        (_, index) => index === 0 || index === records.length - 1 || mask & (1 << (index - 1)),
      );
      expect(statesOf(seenRecords)).toEqual(all);
    }
  });

  it("reports no state twice when changes have the same time", async () => {
    const records = await recordsOf({ ticks: false, changes: life.slice(0, 3) });
    expect(statesOf([records[0], records.at(-1)].filter((record) => record !== undefined))).toEqual(
      [...["submitted", "working", "input_required Shall I?"]],
    );
  });
});

describe("the records between two reads in one millisecond", () => {
  const atMs = nowMs;
  const withPast = (state: ExecutionTask["state"], past: readonly ExecutionTask["state"][]) => {
    const task = recordOf({ state, changedAtMs: atMs });
    const passedStates = past.map((name) => ({ state: name, atMs }));
    return { ...task, ...(task.a2a && { a2a: { ...task.a2a, passed: passedStates } }) };
  };

  it("lists the state that followed the oldest one in the same millisecond", () => {
    const next = withPast("completed", ["submitted", "working"]);
    const between = listRecordsBetween({ previousTask: withPast("submitted", []), nextTask: next });
    expect(between.map(({ state }) => state)).toEqual(["working", "completed"]);
  });

  it("lists no state from before the earlier read", () => {
    const next = withPast("working", ["submitted"]);
    const between = listRecordsBetween({
      previousTask: withPast("working", ["submitted"]),
      nextTask: next,
    });
    expect(between.map(({ state }) => state)).toEqual(["working"]);
  });
});

describe("a task of the zone contract", () => {
  it("stores no past states for a task of the zone contract", async () => {
    const store = memoryStore(() => 0);
    const change = createChangeTask({ store, changeSignal: createTaskSignal(), now: () => 1 });
    const { a2a: _a2a, ...zone } = recordOf({
      state: "submitted",
      expiresAtMs: Number.MAX_SAFE_INTEGER,
    });
    const task = (await store.create({ item: zone })) ?? zone;
    expect((await change({ task, change: begin })).task?.a2a).toBeUndefined();
  });
});
