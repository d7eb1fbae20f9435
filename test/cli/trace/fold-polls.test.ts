/** Polls of a long task, for a reader. */
import { describe, expect, it } from "@jest/globals";
import { foldPolls } from "../../../lib/cli/trace/fold-polls.ts";
import type { PictureStep } from "../../../lib/cli/trace/picture-step.ts";

const step = (atMs: number, title: string): PictureStep => ({ atMs, zone: "verification", title, detail: {} });
const poll = (atMs: number): PictureStep => ({ ...step(atMs, "get_task"), zone: "transport", durationMs: 5 });
const claim = "worker claims the task → waiting";
const answer = "Execution zone answered → waiting";
const round = (atMs: number) => [step(atMs, claim), poll(atMs + 1), step(atMs + 6, answer)];
const titles = (steps: PictureStep[]) => steps.map(({ title }) => title);

describe("polls in a row", () => {
  it("are one step that says how many there were and how long they took; what was before and after stays", () => {
    const way = [step(0, answer), ...round(10), ...round(20), ...round(30), step(40, "answer is in the thread → done")];
    const folded = foldPolls(way);
    expect(titles(folded)).toEqual([answer, claim, "get_task, 3 times", answer, "answer is in the thread → done"]);
    expect(folded[2]).toMatchObject({ atMs: 11, durationMs: 25 });
  });

  it("are told one by one where they are few, or something is in between", () => {
    const few = [...round(10), ...round(20)];
    expect(foldPolls(few)).toEqual(few);
    const parted = [...round(10), step(18, "question is in the thread → asking"), ...round(20)];
    expect(foldPolls(parted)).toEqual(parted);
  });

  it("do not hide one that failed", () => {
    const failed: PictureStep = { ...step(40, "get_task failed (timeout)"), zone: "transport", failed: true };
    const way = [...round(10), ...round(20), ...round(30), failed, ...round(50)];
    expect(titles(foldPolls(way))).toContain(failed.title);
  });
});
