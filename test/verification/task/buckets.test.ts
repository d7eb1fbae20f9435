/** Which records of the zone are listed together. A stored key begins with the name of its bucket, so the names do not change. */
import { expect, it } from "@jest/globals";
import { taskStateSchema } from "@sekisho/contracts/methods.ts";
import { formerStateOf } from "@sekisho/sekisho/usage/former-history.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";

it("keeps a task in one bucket until it is done", () => {
  const states = taskSchema.shape.state.options;
  const buckets = states.map((state) => [state, toStateBucket(state)]);
  expect(buckets).toEqual(states.map((state) => [state, state === "done" ? "done" : "open"]));
});

it("keeps the history of version 1.0.0 in a bucket for each day", () => {
  expect(toStateBucket(formerStateOf("2026-11-22"))).toBe("history/2026-11-22");
});

it("returns no bucket for a record that is never listed by state", () => {
  const otherStates = [...taskStateSchema.options, "thread", "usage", "allowlist", "zone_secret"];
  expect(otherStates.filter((state) => toStateBucket(state) !== undefined)).toEqual([]);
});
