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
  const lined = addToThread({ thread, task: taskOf(n), parallel, turnMs, nowMs: atMs });
  if (lined === undefined) throw new Error("the thread is full");
  return lined;
}

describe("the order of a thread", () => {
  it("lets the first begin at once, and the others when all before them have left", () => {
    const first = enter(empty, 1);
    const second = enter(first.thread, 2);
    const third = enter(second.thread, 3);
    expect([first, second, third].map(({ position }) => position.queuePosition)).toEqual([0, 1, 2]);
    const left = removeFromThread({ thread: third.thread, id: "task-1", nowMs });
    expect(left.next).toBe("task-2");
    expect(enter(left.thread, 3).position.queuePosition).toBe(1);
    expect(enter(left.thread, 2).position.queuePosition).toBe(0);
  });

  it("is that of the messages, whichever comes in first; but what has begun is not overtaken", () => {
    const waiting = enter(enter(enter(empty, 1).thread, 3).thread, 2);
    expect(waiting.position.queuePosition).toBe(1);
    expect(waiting.thread.tasks.map(({ id }) => id)).toEqual(["task-1", "task-2", "task-3"]);
    expect(enter(enter(empty, 2).thread, 1).position.queuePosition).toBe(1);
  });

  it("tells the next one as often as the leaving is repeated, until that has begun", () => {
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

  it("passes one that holds it longer than it may, and says from when on that is", () => {
    const { thread, position } = enter(enter(empty, 1).thread, 2);
    expect(position.freeAtMs).toBe(nowMs + turnMs);
    expect(enter(thread, 2, { atMs: nowMs + turnMs - 1 }).position.queuePosition).toBe(1);
    expect(enter(thread, 2, { atMs: nowMs + turnMs }).position.queuePosition).toBe(0);
  });

  it("is nobody's business where tasks run in parallel, neither before nor behind others", () => {
    const beside = enter(enter(empty, 1).thread, 2, { parallel: true });
    expect(beside.position.queuePosition).toBe(0);
    expect(enter(beside.thread, 3).position.queuePosition).toBe(1);
    expect(removeFromThread({ thread: beside.thread, id: "task-1", nowMs }).next).toBeUndefined();
  });

  it("takes no more tasks than a record can hold, and forgets those whose time is over", () => {
    let thread = empty;
    for (let n = 0; n < 200; n++) thread = enter(thread, n).thread;
    expect(
      addToThread({ thread, task: taskOf(200), parallel: false, turnMs, nowMs }),
    ).toBeUndefined();
    expect(enter(thread, 199).position.queuePosition).toBe(199);
    expect(Buffer.byteLength(JSON.stringify(threadSchema.parse(thread)))).toBeLessThan(100_000);
    expect(enter(thread, 200, { atMs: nowMs + 25 * 3600_000 }).thread.tasks).toHaveLength(1);
  });

  it("has one serial task at work at most, whatever comes, goes and is repeated; and when all have gone, nobody waits", () => {
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
          const { position, thread: changed } = enter(thread, n);
          thread = changed;
          if (position.queuePosition === 0) atWork.add(n);
        }
        expect(atWork.size).toBeLessThanOrEqual(1);
      }
      const left = thread.tasks.reduce(
        (rest, { id }) => removeFromThread({ thread: rest, id, nowMs }).thread,
        thread,
      );
      expect(left.tasks).toEqual([]);
    });
  });
});

describe("a task that asks", () => {
  const asking = holdThread({
    thread: enter(enter(empty, 1).thread, 2).thread,
    id: "task-1",
    untilMs: nowMs + 3600_000,
  });

  it("holds its place until its question has expired, and is known as one whose answer may come", () => {
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

  it("is remembered for a while when it has left, so that a reply can find out that it was its answer", () => {
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
      const held = holdThread({
        thread: enter(many, n).thread,
        id: `task-${n}`,
        untilMs: nowMs + 3600_000,
      });
      many = removeFromThread({ thread: held, id: `task-${n}`, nowMs }).thread;
    }
    const { before } = findAskingTasks({ thread: many, id: "reply", nowMs });
    expect(before.at(-1)).toBe("task-59");
    expect(before.length).toBeLessThanOrEqual(50);
  });
});

it("knows of a task that asked also when that was passed, whoever took it out", () => {
  const asking = holdThread({
    thread: enter(empty, 1).thread,
    id: "task-1",
    untilMs: nowMs + turnMs,
  });
  const passed = addToThread({
    ...{ thread: asking, task: taskOf(2), parallel: false, turnMs, nowMs },
    releasedAtMs: new Map([["task-1", nowMs]]),
  });
  expect(passed?.position.queuePosition).toBe(0);
  expect(passed?.thread.asked).toEqual(["task-1"]);
  const leftByOther = removeFromThread({
    thread: enter(asking, 2).thread,
    id: "task-2",
    nowMs: nowMs + turnMs,
  });
  expect(leftByOther.thread.asked).toEqual(["task-1"]);
});
