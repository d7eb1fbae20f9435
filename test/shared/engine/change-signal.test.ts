/** The bell: who waits for a queue is woken by a ring, by the time, or by a signal, and leaves nothing behind. */

import { getEventListeners } from "node:events";
import { expect, it } from "@jest/globals";
import { createQueueSignal } from "../../../lambdas/shared/engine/sqlite/database.ts";

/** Far beyond the test's own time limit. */
const never = 3600_000;

it("wakes all who wait for that name, and nobody else", async () => {
  const changeSignal = createQueueSignal();
  const woken: string[] = [];
  const stop = new AbortController();
  const waits = ["tasks", "tasks", "dead"].map(async (name) => {
    await changeSignal.wait({ name, ms: never, signal: stop.signal });
    woken.push(name);
  });
  changeSignal.ring("tasks");
  changeSignal.ring("nobody's");
  await Promise.all(waits.slice(0, 2));
  expect(woken).toEqual(["tasks", "tasks"]);
  stop.abort();
  await Promise.all(waits);
  expect(woken).toEqual(["tasks", "tasks", "dead"]);
});

it("wakes when the time is over", async () => {
  await createQueueSignal().wait({ name: "tasks", ms: 1, signal: undefined });
});

it("does not wait on a signal that has aborted, and keeps no listener on one that lives on", async () => {
  const changeSignal = createQueueSignal();
  await changeSignal.wait({ name: "tasks", ms: never, signal: AbortSignal.abort() });
  const { signal } = new AbortController();
  const waiting = changeSignal.wait({ name: "tasks", ms: never, signal });
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  changeSignal.ring("tasks");
  await waiting;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
