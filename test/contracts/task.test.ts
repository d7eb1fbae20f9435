/** The states of a task: every transition there is, allowed or not. */
import { describe, expect, it } from "@jest/globals";
import { isTerminal, mayFollow, taskStateSchema } from "../../contracts/task.ts";

const states = taskStateSchema.options;
const allowed = [
  "submitted > working",
  "submitted > rejected",
  "submitted > failed",
  "submitted > canceled",
  "working > input_required",
  "working > completed",
  "working > failed",
  "working > canceled",
  "working > rejected",
  "input_required > working",
  "input_required > completed",
  "input_required > failed",
  "input_required > canceled",
  "input_required > rejected",
];

describe("the states of a task", () => {
  it.each(states.flatMap((from) => states.map((to) => ({ from, to, may: allowed.includes(`${from} > ${to}`) }))))(
    "$from to $to: $may",
    ({ from, to, may }) => {
      expect(mayFollow({ from, to })).toBe(may);
    },
  );

  it("never change once they are terminal", () => {
    expect(states.filter(isTerminal)).toEqual(["completed", "failed", "canceled", "rejected"]);
  });
});
