/** The picture as lines for a terminal, whatever is in it. */
import { describe, expect, it } from "@jest/globals";
import { createPicture } from "../../../lib/cli/trace/picture.ts";
import { timelineLines } from "../../../lib/cli/trace/timeline.ts";
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
