/** The order of a thread, as plain data. */
import { describe, expect, it } from "@jest/globals";
import {
  addToThread,
  emptyThread,
  findAskingTasks,
  holdThread,
  removeFromThread,
  type Thread,
  threadSchema,
} from "@sekisho/verification/task/thread.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const nowMs = 1_760_000_000_000;
const turnMs = 60_000;
const empty = emptyThread({ id: "thread:C1/1.1" });
const taskOf = (n: number) => ({ id: `task-${n}`, message: { ts: `${1_760_000_000 + n}.000100` } });

function enter(thread: Thread, n: number, { atMs = nowMs, parallel = false } = {}) {
  const position = addToThread({ thread, task: taskOf(n), parallel, turnMs, nowMs: atMs });
  if (position === undefined) throw new Error("the thread is full");
  return position;
}

describe("the order of a thread", () => {
  it("starts the first task at once and each later one when all before it have left", () => {
    const first = enter(empty, 1);
    const second = enter(first.thread, 2);
    const third = enter(second.thread, 3);
    expect([first, second, third].map(({ position }) => position.queuePosition)).toEqual([0, 1, 2]);
    const removal = removeFromThread({ thread: third.thread, id: "task-1", nowMs });
    expect(removal.next).toBe("task-2");
    expect(enter(removal.thread, 3).position.queuePosition).toBe(1);
    expect(enter(removal.thread, 2).position.queuePosition).toBe(0);
  });

  it("orders waiting tasks by their messages and never overtakes a running task", () => {
    const waiting = enter(enter(enter(empty, 1).thread, 3).thread, 2);
    expect(waiting.position.queuePosition).toBe(1);
    expect(waiting.thread.tasks.map(({ id }) => id)).toEqual(["task-1", "task-2", "task-3"]);
    expect(enter(enter(empty, 2).thread, 1).position.queuePosition).toBe(1);
  });

  it("names the next task on every repeated release until that task has started", () => {
    const { thread } = removeFromThread({
      thread: enter(enter(empty, 1).thread, 2).thread,
      id: "task-1",
      nowMs,
    });
    expect(removeFromThread({ thread, id: "task-1", nowMs })).toEqual({ thread, next: "task-2" });
    expect(
      removeFromThread({ thread: enter(thread, 2).thread, id: "task-1", nowMs }).next,
    ).toBeUndefined();
  });

  it("passes a task that holds the thread for too long and reports when that is due", () => {
    const { thread, position } = enter(enter(empty, 1).thread, 2);
    expect(position.freeAtMs).toBe(nowMs + turnMs);
    expect(enter(thread, 2, { atMs: nowMs + turnMs - 1 }).position.queuePosition).toBe(1);
    expect(enter(thread, 2, { atMs: nowMs + turnMs }).position.queuePosition).toBe(0);
  });

  it("excludes parallel tasks from the order of the thread", () => {
    const beside = enter(enter(empty, 1).thread, 2, { parallel: true });
    expect(beside.position.queuePosition).toBe(0);
    expect(enter(beside.thread, 3).position.queuePosition).toBe(1);
    expect(removeFromThread({ thread: beside.thread, id: "task-1", nowMs }).next).toBeUndefined();
  });

  it("limits the tasks of a thread to what a record holds and drops expired ones", () => {
    let thread = empty;
    for (let n = 0; n < 200; n++) thread = enter(thread, n).thread;
    expect(
      addToThread({ thread, task: taskOf(200), parallel: false, turnMs, nowMs }),
    ).toBeUndefined();
    expect(enter(thread, 199).position.queuePosition).toBe(199);
    expect(Buffer.byteLength(JSON.stringify(threadSchema.parse(thread)))).toBeLessThan(100_000);
    expect(enter(thread, 200, { atMs: nowMs + 25 * 3600_000 }).thread.tasks).toHaveLength(1);
  });

  it("runs at most one serial task at a time, and nobody waits once all tasks have left", () => {
    const moves = fc.array(fc.record({ n: fc.nat({ max: 5 }), leaves: fc.boolean() }), {
      maxLength: 40,
    });
    forAll(moves).hold((list) => {
      let thread = empty;
      const atWork = new Set<number>();
      const over = new Set<number>();
      for (const { n, leaves } of list) {
        if (over.has(n)) continue;
        if (leaves) {
          thread = removeFromThread({ thread, id: taskOf(n).id, nowMs }).thread;
          atWork.delete(n);
          over.add(n);
        } else {
          const { position, thread: changedThread } = enter(thread, n);
          thread = changedThread;
          if (position.queuePosition === 0) atWork.add(n);
        }
        expect(atWork.size).toBeLessThanOrEqual(1);
      }
      const emptyThread = thread.tasks.reduce(
        (thread, { id }) => removeFromThread({ thread, id, nowMs }).thread,
        thread,
      );
      expect(emptyThread.tasks).toEqual([]);
    });
  });
});

describe("a task with a question", () => {
  const asking = holdThread({
    thread: enter(enter(empty, 1).thread, 2).thread,
    id: "task-1",
    untilMs: nowMs + 3600_000,
  });

  it("holds the place of an asking task until its question has expired", () => {
    expect(enter(asking, 2, { atMs: nowMs + turnMs + 1 }).position.queuePosition).toBe(1);
    expect(findAskingTasks({ thread: asking, id: "reply", nowMs: nowMs + turnMs + 1 }).now).toEqual(
      ["task-1"],
    );
    expect(findAskingTasks({ thread: asking, id: "reply", nowMs: nowMs + 3600_000 }).now).toEqual(
      [],
    );
    expect(enter(asking, 2, { atMs: nowMs + 3600_000 }).position.queuePosition).toBe(0);
    expect(threadSchema.parse(JSON.parse(JSON.stringify(asking)))).toEqual(asking);
  });

  it("remembers an asking task after it has left, so that a reply can be matched to it", () => {
    const { thread, next } = removeFromThread({ thread: asking, id: "task-1", nowMs });
    expect(next).toBe("task-2");
    expect(findAskingTasks({ thread, id: "reply", nowMs })).toEqual({
      now: [],
      before: ["task-1"],
    });
    // What has a place in the thread is a task, and no answer.
    expect(findAskingTasks({ thread: asking, id: "task-2", nowMs })).toEqual({
      now: [],
      before: [],
    });
    let many = thread;
    for (let n = 10; n < 60; n++) {
      const heldThread = holdThread({
        thread: enter(many, n).thread,
        id: `task-${n}`,
        untilMs: nowMs + 3600_000,
      });
      many = removeFromThread({ thread: heldThread, id: `task-${n}`, nowMs }).thread;
    }
    const { before } = findAskingTasks({ thread: many, id: "reply", nowMs });
    expect(before.at(-1)).toBe("task-59");
    expect(before.length).toBeLessThanOrEqual(50);
  });
});

it("remembers an asking task that was passed, regardless of which task removed it", () => {
  const asking = holdThread({
    thread: enter(empty, 1).thread,
    id: "task-1",
    untilMs: nowMs + turnMs,
  });
  const addition = addToThread({
    ...{ thread: asking, task: taskOf(2), parallel: false, turnMs, nowMs },
    releasedAtMs: new Map([["task-1", nowMs]]),
  });
  expect(addition?.position.queuePosition).toBe(0);
  expect(addition?.thread.asked).toEqual(["task-1"]);
  const leftByOther = removeFromThread({
    thread: enter(asking, 2).thread,
    id: "task-2",
    nowMs: nowMs + turnMs,
  });
  expect(leftByOther.thread.asked).toEqual(["task-1"]);
});
