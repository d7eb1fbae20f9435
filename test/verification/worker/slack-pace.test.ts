/** The pace of the calls that show progress: they keep Slack's limits together, and take turns. */
import { describe, expect, it } from "@jest/globals";
import { callsPerMinute } from "@sekisho/local/fake-slack/methods/table.ts";
import { createSlackPace, type PacedCall } from "@sekisho/verification/worker/slack-pace.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

/** Slack's limits of `chat.startStream`, `chat.appendStream` and `chat.update`. */
const slackTakes: Record<PacedCall, number> = {
  start: callsPerMinute.tier2,
  append: callsPerMinute.tier4,
  edit: callsPerMinute.tier3,
};

const minuteMs = 60_000;

/**
 * The times at which each of these streams makes its calls within ten minutes. Each has news all the time, asks again when it is told to, and
 * at the earliest after `minGapMs`.
 */
function play({
  streams,
  call,
  minGapMs = 1000,
}: {
  streams: number;
  call: PacedCall;
  minGapMs?: number;
}) {
  let nowMs = 0;
  const pace = createSlackPace({ now: () => nowMs });
  const callTimes = Array.from({ length: streams }, (_, index) => ({
    requestId: `${index}`,
    nextMs: index,
    atMs: [] as number[],
  }));
  for (;;) {
    const [next] = callTimes.toSorted((a, b) => a.nextMs - b.nextMs);
    if (next === undefined || next.nextMs > 10 * minuteMs) return callTimes.map(({ atMs }) => atMs);
    nowMs = next.nextMs;
    const delayMs = pace({ team: "T1", call, requestId: next.requestId });
    if (delayMs === 0) next.atMs.push(nowMs);
    next.nextMs += delayMs === 0 ? minGapMs : delayMs;
  }
}

function mostInMinute(times: readonly number[]): number {
  return Math.max(
    ...times.map(
      (fromMs) => times.filter((atMs) => atMs >= fromMs && atMs < fromMs + minuteMs).length,
    ),
  );
}

function findMaxGapMs(times: readonly number[]): number {
  return Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0)));
}

describe("the calls of any number of streams", () => {
  it("keeps the limit of Slack in every minute for any number of streams", () => {
    const calls = fc.constantFrom<PacedCall>("start", "append", "edit");
    forAll(fc.integer({ min: 1, max: 12 }), calls).hold((streams, call) => {
      expect(mostInMinute(play({ streams, call }).flat())).toBeLessThanOrEqual(slackTakes[call]);
    });
  });

  it("shares the calls fairly between streams", () => {
    const gaps = play({ streams: 8, call: "append" }).map((atMs) =>
      findMaxGapMs(atMs.filter((at) => at > minuteMs)),
    );
    expect(Math.max(...gaps)).toBeLessThanOrEqual(8 * 800);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(8 * 800 - 10);
  });
});

describe("one stream", () => {
  it("appends to a single stream every second and edits a placeholder every 1.5 seconds", () => {
    expect(play({ streams: 1, call: "append" }).map(findMaxGapMs)).toEqual([1000]);
    expect(play({ streams: 1, call: "edit" }).map(findMaxGapMs)[0]).toBeLessThanOrEqual(1500);
  });

  it("limits each workspace and each method separately", () => {
    const pace = createSlackPace({ now: () => 0 });
    const ask = (team: string, call: PacedCall) => pace({ team, call, requestId: "1" });
    while (ask("T1", "start") === 0);
    expect([ask("T1", "append"), ask("T2", "start")]).toEqual([0, 0]);
  });
});
