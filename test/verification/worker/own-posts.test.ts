import { describe, expect, it } from "@jest/globals";
import type { OutcomeKind, PostKind } from "@sekisho/verification/slack/api/post-keys.ts";
import type { OwnPost } from "@sekisho/verification/worker/own-posts.ts";
import { type DeliveryAction, planDelivery } from "@sekisho/verification/worker/own-posts.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const post = (ts: number, kind: PostKind, index = 0): OwnPost => ({ ts: `${ts}.0`, kind, index });
const idsOf = (posts: readonly OwnPost[]) => posts.map(({ kind, index }) => `${kind} ${index}`);
const said = (...texts: string[]) => texts.map((text) => ({ text }));

/** A plan for an answer without files, unless said otherwise. */
function plan(
  request: Pick<Parameters<typeof planDelivery>[0], "parts" | "found" | "asNew"> & {
    kind?: OutcomeKind;
    hasFiles?: boolean;
  },
) {
  return planDelivery({ kind: "answer", hasFiles: false, ...request });
}

/** What the thread shows after the actions. */
function perform(found: OwnPost[], actions: DeliveryAction[]): OwnPost[] {
  let thread = [...found];
  let clock = 1000;
  for (const action of actions) {
    if (action.type === "remove") thread = thread.filter(({ ts }) => ts !== action.ts);
    if (action.type === "update")
      thread = thread.map((known) =>
        known.ts === action.ts ? { ...known, kind: action.kind, index: action.index } : known,
      );
    if (action.type === "post") thread.push(post(clock++, action.kind, action.index));
    if (action.type === "share") thread.push(post(clock++, "files"));
  }
  return thread;
}

describe("the plan of a delivery", () => {
  it("edits the placeholder into the first part and posts the others", () => {
    expect(plan({ parts: said("a", "b"), found: [post(1, "placeholder")], asNew: false })).toEqual([
      { type: "update", ts: "1.0", kind: "answer", index: 0, content: { text: "a" } },
      { type: "post", kind: "answer", index: 1, content: { text: "b" } },
    ]);
  });

  it("posts anew and then removes the placeholder where an edit would notify nobody", () => {
    expect(plan({ parts: said("a"), found: [post(1, "placeholder")], asNew: true })).toEqual([
      { type: "post", kind: "answer", index: 0, content: { text: "a" } },
      { type: "remove", ts: "1.0" },
    ]);
  });

  it("posts only part 2 again when part 2 is what failed", () => {
    expect(plan({ parts: said("a", "b"), found: [post(1, "answer")], asNew: false })).toEqual([
      { type: "post", kind: "answer", index: 1, content: { text: "b" } },
    ]);
  });

  it("removes the later of two posts of one part", () => {
    expect(
      plan({ parts: said("a"), found: [post(1, "answer"), post(2, "answer")], asNew: false }),
    ).toEqual([{ type: "remove", ts: "2.0" }]);
  });

  it("makes the last message of a stream the answer, even where the placeholder is not edited, and removes the others", () => {
    const found = [post(1, "placeholder"), post(2, "stream"), post(3, "stream")];
    for (const asNew of [false, true]) {
      expect(plan({ parts: said("a"), found, asNew })).toEqual([
        { type: "update", ts: "3.0", kind: "answer", index: 0, content: { text: "a" } },
        { type: "remove", ts: "2.0" },
        { type: "remove", ts: "1.0" },
      ]);
    }
  });

  it("shares the files after the words, once, and what was asked and where the thread began stay", () => {
    const found = [
      post(1, "opening"),
      post(2, "question"),
      post(3, "question", 1),
      post(4, "placeholder"),
    ];
    const actions = plan({ parts: said("a"), found, asNew: true, hasFiles: true });
    expect(actions.map(({ type }) => type)).toEqual(["post", "share", "remove"]);
    const thread = perform(found, actions);
    expect(plan({ parts: said("a"), found: thread, asNew: true, hasFiles: true })).toEqual([]);
    expect(idsOf(thread)).toEqual(["opening 0", "question 0", "question 1", "answer 0", "files 0"]);
  });

  it("removes what is there twice of files and questions", () => {
    const found = [
      post(1, "answer"),
      post(2, "question"),
      post(3, "question"),
      post(4, "files"),
      post(5, "files"),
    ];
    expect(plan({ parts: said("a"), found, asNew: true, hasFiles: true })).toEqual([
      { type: "remove", ts: "3.0" },
      { type: "remove", ts: "5.0" },
    ]);
  });

  it("takes nothing of an answer that Slack did not take for what stands instead of it", () => {
    for (const kind of ["mrkdwn_answer", "own_text"] as const) {
      const found = [post(1, "answer"), post(2, "answer", 1)];
      const thread = perform(found, plan({ parts: said("a"), found, asNew: false, kind }));
      expect(idsOf(thread)).toEqual([`${kind} 0`]);
    }
  });

  it("leaves every part exactly once whatever an earlier try left behind, and doing it again changes nothing", () => {
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
      const request = { parts: said(...wanted), asNew, kind, hasFiles };
      const thread = perform(found, plan({ ...request, found }));
      const expected = [...wanted, ...(hasFiles ? ["files 0"] : [])];
      expect(idsOf(thread).sort()).toEqual(expected.sort());
      expect(plan({ ...request, found: thread })).toEqual([]);
    });
  });
});
