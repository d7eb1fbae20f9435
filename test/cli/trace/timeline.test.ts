/** The timeline on a terminal. */
import { describe, expect, it } from "@jest/globals";
import { createPicture } from "../../../lib/cli/trace/picture.ts";
import type { PictureStep } from "../../../lib/cli/trace/picture-step.ts";
import { foldPolls, timelineLines } from "../../../lib/cli/trace/timeline.ts";
import { sampleCall } from "../../verification/task/sample.ts";
import { knownTask, requestId } from "./known.ts";

const startMs = 1_760_000_000_000;
const hostile = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eid\n";
const controls = /[\p{Cc}\u202e]/u;

describe("the picture on a terminal", () => {
  it("moves no cursor, sets no title and turns no line around, whatever an Execution zone named its task", () => {
    const task = knownTask({ startMs, call: sampleCall({ taskId: hostile, destination: hostile }) });
    const picture = createPicture({ requestId, task, nowMs: startMs });
    if (picture === undefined) throw new Error("no picture");
    const steps = picture.steps.map((step) => ({ ...step, title: hostile, detail: { [hostile]: hostile } }));
    const lines = timelineLines({ picture: { ...picture, steps }, color: false });
    expect(lines).toContain("  task id      [2J]0;owned31mid");
    expect(lines.filter((line) => controls.test(line))).toEqual([]);
  });

  it("is drawn of as many lines as a log may hold", () => {
    const steps = Array.from({ length: 200_000 }, (_, at) => ({
      atMs: startMs + at,
      zone: "execution" as const,
      title: `step ${at}`,
      detail: {},
    }));
    const picture = { requestId, state: "waiting", startedAtMs: startMs, steps };
    expect(timelineLines({ picture, color: false }).length).toBeGreaterThan(steps.length);
  });
});

describe("polls in a row", () => {
  const step = (atMs: number, title: string): PictureStep => ({ atMs, zone: "verification", title, detail: {} });
  const poll = (atMs: number): PictureStep => ({ ...step(atMs, "get_task"), zone: "transport", durationMs: 5 });

  it("are one step that says how many there were and how long they took, until something else happens", () => {
    const before = step(0, "Execution zone answered → waiting");
    const question = step(40, "question is in the thread → asking");
    const folded = foldPolls([before, poll(10), poll(20), poll(30), question, poll(50)]);
    const titles = folded.map(({ title }) => title);
    expect(titles).toEqual([before.title, "get_task, 3 times", question.title, "get_task"]);
    expect(folded[1]).toMatchObject({ atMs: 10, durationMs: 25 });
  });

  it("do not hide one that failed", () => {
    const failed: PictureStep = { ...poll(30), failed: true };
    expect(foldPolls([poll(10), poll(20), failed, poll(40)])).toContainEqual(failed);
  });
});
