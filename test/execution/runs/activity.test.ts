/** The time of the last change between idle and busy, by a clock that a test moves. */
import { expect, it } from "@jest/globals";
import { createActivityRecord } from "@sekisho/execution/runs/activity.ts";

function open({ nowMs = 0 } = {}) {
  const clock = { nowMs, reads: 0 };
  const activity = createActivityRecord({
    now() {
      clock.reads += 1;
      return clock.nowMs;
    },
  });
  const readAt = (atMs: number) => {
    clock.nowMs = atMs;
    return activity.read();
  };
  const setAt = (atMs: number, isBusy: boolean) => {
    clock.nowMs = atMs;
    activity.set(isBusy);
  };
  return { clock, readAt, setAt };
}

it("reads the clock at its first use and not at creation, because a snapshot may lie in between", () => {
  const { clock, readAt } = open();
  expect(clock.reads).toBe(0);
  expect([readAt(5000), readAt(900_000)]).toEqual([
    { isBusy: false, sinceMs: 5000 },
    { isBusy: false, sinceMs: 5000 },
  ]);
});

it("keeps the time of the last change, however often it is read and however many runs overlap", () => {
  const { readAt, setAt } = open();
  readAt(1000);
  setAt(2000, true);
  setAt(3000, true);
  expect([readAt(4000), readAt(9000)]).toEqual([
    { isBusy: true, sinceMs: 2000 },
    { isBusy: true, sinceMs: 2000 },
  ]);
  setAt(10_000, false);
  expect(readAt(20_000)).toEqual({ isBusy: false, sinceMs: 10_000 });
});

it("uses the start of the second of two runs within a second", () => {
  const { readAt, setAt } = open();
  setAt(1100, true);
  setAt(1200, false);
  setAt(1300, true);
  expect(readAt(60_000)).toEqual({ isBusy: true, sinceMs: 1300 });
});

it("reports no future time after the clock was set back, and moves only once", () => {
  const { readAt, setAt } = open();
  setAt(100_000, true);
  expect([readAt(40_000), readAt(41_000), readAt(200_000)].map(({ sinceMs }) => sinceMs)).toEqual([
    40_000, 40_000, 40_000,
  ]);
});
