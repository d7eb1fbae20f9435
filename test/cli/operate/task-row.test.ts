import { describe, expect, it } from "@jest/globals";
import { toTaskRow } from "@sekisho/sekisho/operate/task-row.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { askedAtMs, sampleTask } from "../../verification/task/sample.ts";
import { undelivered } from "./tasks-in-file.ts";

const rowOf = (changes: Partial<Task>) =>
  toTaskRow({ task: sampleTask(changes), nowMs: askedAtMs });
const failed = { type: "failed", reason: "timeout", lost: false } as const;

describe("a task's line in the list", () => {
  it.each<[string, Partial<Task>, string]>([
    ["under way", { state: "waiting" }, "open"],
    [
      "under way while its answer is being delivered",
      { state: "delivering", outcome: { type: "answer", text: "x" } },
      "open",
    ],
    ["good when its answer is in the thread", { state: "done" }, "good"],
    ["bad when it failed", { state: "done", outcome: failed }, "bad"],
    ["bad as soon as its failure is known", { state: "delivering", outcome: failed }, "bad"],
    ["bad when its answer is not in the thread", undelivered, "bad"],
    [
      "stopped when it was canceled",
      { state: "done", outcome: { ...failed, reason: "canceled" } },
      "stopped",
    ],
    ["stopped when it was refused", { state: "done", outcome: { type: "refused" } }, "stopped"],
  ])("shows a task as %s", (_what, changes, kind) => {
    expect(rowOf(changes).kind).toBe(kind);
  });

  it("shows the time of the next event: the next poll, or the end of a question", () => {
    const wait = { workStartedAtMs: 1, polls: 1, nextPollAtMs: 12 };
    expect(rowOf({ state: "waiting", wait }).nextAtMs).toBe(12);
    expect(rowOf({ state: "delivering", wait }).nextAtMs).toBeUndefined();
    expect(rowOf({ state: "waiting" }).nextAtMs).toBeUndefined();
    const question = { index: 0, prompt: "p", options: [], askedAtMs: 1, expiresAtMs: 9 };
    expect(rowOf({ state: "asking", question }).nextAtMs).toBe(9);
    expect(
      rowOf({ state: "asking", question, lease: { owner: "o", untilMs: 1 } }).nextAtMs,
    ).toBeUndefined();
  });

  it("contains no text of a user or an agent", () => {
    const texts = {
      progress: { text: "a secret", percent: 40, shownAtMs: 1 },
      outcome: { type: "answer", text: "a secret" },
    } as const;
    const row = rowOf({ state: "delivering", ...texts });
    expect(JSON.stringify(row)).not.toMatch(/secret|What is/);
    expect(row.percent).toBe(40);
  });
});
