import { describe, expect, it } from "@jest/globals";
import {
  filesPart,
  openingPart,
  placeholderPart,
  questionPart,
  streamPart,
} from "@sekisho/verification/slack/messages/blocks.ts";
import type { OwnPost } from "@sekisho/verification/worker/own-posts.ts";
import { type DeliveryAction, planDelivery } from "@sekisho/verification/worker/own-posts.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const post = (ts: number, part: number): OwnPost => ({ ts: `${ts}.0`, part });
const said = (...texts: string[]) => texts.map((text) => ({ text }));

/** A plan for an answer without files, unless said otherwise. */
function plan(
  request: Pick<Parameters<typeof planDelivery>[0], "parts" | "found" | "asNew"> & {
    firstPart?: number;
    hasFiles?: boolean;
  },
) {
  return planDelivery({ firstPart: 1, hasFiles: false, ...request });
}

/** What the thread shows after the actions. */
function perform(found: OwnPost[], actions: DeliveryAction[]): OwnPost[] {
  let thread = [...found];
  let clock = 1000;
  for (const action of actions) {
    if (action.type === "remove") thread = thread.filter(({ ts }) => ts !== action.ts);
    if (action.type === "update")
      thread = thread.map((known) =>
        known.ts === action.ts ? { ...known, part: action.part } : known,
      );
    if (action.type === "post") thread.push(post(clock++, action.part));
    if (action.type === "share") thread.push(post(clock++, filesPart));
  }
  return thread;
}

describe("the plan of a delivery", () => {
  it("edits the placeholder into the first part and posts the others", () => {
    expect(plan({ parts: said("a", "b"), found: [post(1, 0)], asNew: false })).toEqual([
      { type: "update", ts: "1.0", part: 1, content: { text: "a" } },
      { type: "post", part: 2, content: { text: "b" } },
    ]);
  });

  it("posts anew and then removes the placeholder where an edit would notify nobody", () => {
    expect(plan({ parts: said("a"), found: [post(1, 0)], asNew: true })).toEqual([
      { type: "post", part: 1, content: { text: "a" } },
      { type: "remove", ts: "1.0" },
    ]);
  });

  it("posts only part 2 again when part 2 is what failed", () => {
    expect(plan({ parts: said("a", "b"), found: [post(1, 1)], asNew: false })).toEqual([
      { type: "post", part: 2, content: { text: "b" } },
    ]);
  });

  it("removes the later of two posts of one part", () => {
    expect(plan({ parts: said("a"), found: [post(1, 1), post(2, 1)], asNew: false })).toEqual([
      { type: "remove", ts: "2.0" },
    ]);
  });

  it("makes the last message of a stream the answer, even where the placeholder is not edited, and removes the others", () => {
    const found = [post(1, placeholderPart), post(2, streamPart), post(3, streamPart)];
    for (const asNew of [false, true]) {
      expect(plan({ parts: said("a"), found, asNew })).toEqual([
        { type: "update", ts: "3.0", part: 1, content: { text: "a" } },
        { type: "remove", ts: "2.0" },
        { type: "remove", ts: "1.0" },
      ]);
    }
  });

  it("shares the files after the words, once, and what was asked and where the thread began stay", () => {
    const found = [
      post(1, openingPart),
      post(2, questionPart),
      post(3, questionPart + 1),
      post(4, placeholderPart),
    ];
    const actions = plan({ parts: said("a"), found, asNew: true, hasFiles: true });
    expect(actions.map(({ type }) => type)).toEqual(["post", "share", "remove"]);
    const thread = perform(found, actions);
    expect(plan({ parts: said("a"), found: thread, asNew: true, hasFiles: true })).toEqual([]);
    expect(thread.map(({ part }) => part)).toEqual([
      openingPart,
      questionPart,
      questionPart + 1,
      1,
      filesPart,
    ]);
  });

  it("removes what is there twice of files and questions", () => {
    const found = [
      post(1, 1),
      post(2, questionPart),
      post(3, questionPart),
      post(4, filesPart),
      post(5, filesPart),
    ];
    expect(plan({ parts: said("a"), found, asNew: true, hasFiles: true })).toEqual([
      { type: "remove", ts: "3.0" },
      { type: "remove", ts: "5.0" },
    ]);
  });

  it("takes nothing of an answer that Slack did not take for what stands instead of it", () => {
    for (const firstPart of [501, 1001]) {
      const found = [post(1, 1), post(2, 2)];
      const thread = perform(found, plan({ parts: said("a"), found, asNew: false, firstPart }));
      expect(thread.map(({ part }) => part)).toEqual([firstPart]);
    }
  });

  it("leaves every part exactly once whatever an earlier try left behind, and doing it again changes nothing", () => {
    const parts = fc.oneof(
      fc.integer({ min: 0, max: 6 }),
      fc.constantFrom(501, 502, 1001, streamPart, filesPart),
    );
    forAll(
      fc.array(parts, { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(1, 501, 1001),
    ).hold((left, count, asNew, withFiles, firstPart) => {
      // Files are found by their ids, which only an answer has that comes with some.
      const hasFiles = withFiles && firstPart !== 1001;
      const found = left
        .filter((part) => hasFiles || part !== filesPart)
        .map((part, index) => post(index + 1, part));
      const wanted = Array.from({ length: count }, (_, index) => `part ${index}`);
      const request = { parts: said(...wanted), asNew, firstPart, hasFiles };
      const thread = perform(found, plan({ ...request, found }));
      const expected = [
        ...wanted.map((_, index) => firstPart + index),
        ...(hasFiles ? [filesPart] : []),
      ];
      expect(thread.map(({ part }) => part).sort((a, b) => a - b)).toEqual(expected);
      expect(plan({ ...request, found: thread })).toEqual([]);
    });
  });
});
