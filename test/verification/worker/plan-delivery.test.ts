import { describe, expect, it } from "@jest/globals";
import type { OutcomeKind, PostKind } from "@sekisho/verification/slack/api/post-keys.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { OwnPost } from "@sekisho/verification/worker/own-posts.ts";
import { planCleanup, planDelivery } from "@sekisho/verification/worker/plan-delivery.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { worldText } from "../../world/people.ts";
import { sampleTask } from "../task/sample.ts";

const post = (ts: number, kind: PostKind, index = 0): OwnPost => ({ ts: `${ts}.0`, kind, index });
const idsOf = (posts: readonly OwnPost[]) => posts.map(({ kind, index }) => `${kind} ${index}`);
const { channel } = sampleTask().message;
const removal = (ts: number) => ({ type: "remove", channel, ts: `${ts}.0` });

type Delivery = {
  parts: readonly string[];
  found: readonly OwnPost[];
  asNew: boolean;
  kind?: OutcomeKind;
  hasFiles?: boolean;
};

/** Plans an answer without files, unless it is said otherwise. */
function requestOf({ parts, found, asNew, kind = "answer", hasFiles = false }: Delivery) {
  const nowMs = sampleTask().receivedAtMs;
  const outcome: Task["outcome"] =
    kind === "own_text"
      ? { type: "failed", reason: "internal", lost: false, insteadOfAnswer: true }
      : { type: "answer", text: "", ...(hasFiles && { uploads: [{ fileId: "F1" }] }) };
  const task = sampleTask({
    state: "delivering",
    outcome,
    ...(kind === "mrkdwn_answer" && { mrkdwnFallback: true }),
    ...(asNew && { progress: { shownAtMs: nowMs, inDoubt: true } }),
  });
  const text = { ...worldText, parts: () => parts.map((part) => ({ text: part })) };
  return { task, text, posts: found, nowMs };
}

const plan = (delivery: Delivery) => planDelivery(requestOf(delivery));

/** The thread after the plan. */
function apply(
  found: readonly OwnPost[],
  { posting, isShareDue, tidying }: ReturnType<typeof plan>,
) {
  let thread = [...found];
  let clock = 1000;
  for (const action of posting) {
    if (action.type === "update")
      thread = thread.map((known) =>
        known.ts === action.ts ? { ...known, kind: action.kind, index: action.index } : known,
      );
    if (action.type === "post") thread.push(post(clock++, action.kind, action.index));
  }
  if (isShareDue) thread.push(post(clock++, "files"));
  return thread.filter(({ ts }) =>
    tidying.every((action) => action.type !== "remove" || action.ts !== ts),
  );
}

const nothing = { posting: [], isShareDue: false, tidying: [] };

describe("the plan of a delivery", () => {
  it("edits the placeholder into the first part and posts the others", () => {
    expect(plan({ parts: ["a", "b"], found: [post(1, "placeholder")], asNew: false })).toEqual({
      ...nothing,
      posting: [
        { type: "update", ts: "1.0", kind: "answer", index: 0, content: { text: "a" } },
        { type: "post", kind: "answer", index: 1, content: { text: "b" } },
      ],
    });
  });

  it("posts a new message and then removes the placeholder if an edit would notify nobody", () => {
    expect(plan({ parts: ["a"], found: [post(1, "placeholder")], asNew: true })).toEqual({
      ...nothing,
      posting: [{ type: "post", kind: "answer", index: 0, content: { text: "a" } }],
      tidying: [removal(1)],
    });
  });

  it("posts only part 2 again if part 2 failed", () => {
    expect(plan({ parts: ["a", "b"], found: [post(1, "answer")], asNew: false })).toEqual({
      ...nothing,
      posting: [{ type: "post", kind: "answer", index: 1, content: { text: "b" } }],
    });
  });

  it("removes the later of two posts of one part", () => {
    const found = [post(1, "answer"), post(2, "answer")];
    const expected = { ...nothing, tidying: [removal(2)] };
    expect(plan({ parts: ["a"], found, asNew: false })).toEqual(expected);
  });

  it("turns the last message of a stream into the answer and removes the others", () => {
    const found = [post(1, "placeholder"), post(2, "stream"), post(3, "stream")];
    for (const asNew of [false, true]) {
      expect(plan({ parts: ["a"], found, asNew })).toEqual({
        posting: [
          { type: "stop_stream", ts: "2.0" },
          { type: "stop_stream", ts: "3.0" },
          { type: "update", ts: "3.0", kind: "answer", index: 0, content: { text: "a" } },
        ],
        isShareDue: false,
        tidying: [removal(2), removal(1)],
      });
    }
  });

  it("shares the files once, and keeps the questions and the opening of the thread", () => {
    const found = [
      post(1, "opening"),
      post(2, "question"),
      post(3, "question", 1),
      post(4, "placeholder"),
    ];
    const request = { parts: ["a"], asNew: true, hasFiles: true };
    const thread = apply(found, plan({ ...request, found }));
    expect(plan({ ...request, found: thread })).toEqual(nothing);
    expect(idsOf(thread)).toEqual(["opening 0", "question 0", "question 1", "answer 0", "files 0"]);
  });

  it("removes duplicates of files and questions", () => {
    const found = [
      post(1, "answer"),
      post(2, "question"),
      post(3, "question"),
      post(4, "files"),
      post(5, "files"),
    ];
    const expected = { ...nothing, tidying: [removal(3), removal(5)] };
    expect(plan({ parts: ["a"], found, asNew: true, hasFiles: true })).toEqual(expected);
  });

  it("removes every post of a refused answer and posts its replacement", () => {
    for (const kind of ["mrkdwn_answer", "own_text"] as const) {
      const found = [post(1, "answer"), post(2, "answer", 1)];
      const thread = apply(found, plan({ parts: ["a"], found, asNew: false, kind }));
      expect(idsOf(thread)).toEqual([`${kind} 0`]);
    }
  });

  it("leaves every part exactly once after any earlier try and does nothing the second time", () => {
    const ids = fc.oneof(
      fc.tuple(fc.constant<PostKind>("answer"), fc.nat({ max: 5 })),
      fc.tuple(fc.constant<PostKind>("mrkdwn_answer"), fc.nat({ max: 1 })),
      fc.tuple(
        fc.constantFrom<PostKind>("placeholder", "own_text", "stream", "files"),
        fc.constant(0),
      ),
    );
    forAll(
      fc.array(ids, { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom<OutcomeKind>("answer", "mrkdwn_answer", "own_text"),
    ).hold((earlier, count, asNew, withFiles, kind) => {
      // Files are found by their ids, which only an answer has that comes with some.
      const hasFiles = withFiles && kind !== "own_text";
      const found = earlier
        .filter(([each]) => hasFiles || each !== "files")
        .map(([each, index], nth) => post(nth + 1, each, index));
      const wanted = Array.from({ length: count }, (_, index) => `${kind} ${index}`);
      const request = { parts: wanted, asNew, kind, hasFiles };
      const thread = apply(found, plan({ ...request, found }));
      const expected = [...wanted, ...(hasFiles ? ["files 0"] : [])];
      expect(idsOf(thread).sort()).toEqual(expected.sort());
      expect(plan({ ...request, found: thread })).toEqual(nothing);
      const cleanup = { ...requestOf({ ...request, found: thread }), surplusOpenings: [] };
      expect(planCleanup(cleanup)).toEqual([]);
    });
  });
});
