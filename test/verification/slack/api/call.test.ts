import { describe, expect, it } from "@jest/globals";
import { slackRetryDelayMs } from "@sekisho/verification/slack/api/call.ts";
import type { SlackErrorKind } from "@sekisho/verification/task/events.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";

const terminal: readonly SlackErrorKind[] = ["gone", "no_such_message", "refused"];
const passing: readonly SlackErrorKind[] = ["rate_limited", "unavailable"];

const input = fc.record({
  kind: fc.constantFrom(...terminal, ...passing, "ambiguous" as const),
  retryAfterMs: fc.option(fc.nat(120_000), { nil: undefined }),
  attempt: fc.nat(6),
  repeatable: fc.boolean(),
  maxDelayMs: fc.integer({ min: 3000, max: 60_000 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }).map((value) => () => value),
});

function delayOf({ kind, retryAfterMs, ...callState }: Given) {
  return slackRetryDelayMs({ error: { kind, retryAfterMs }, ...callState });
}

type Given = typeof input extends fc.Arbitrary<infer T> ? T : never;

describe("the repetition of a Slack call", () => {
  it("never retries a terminal error or a post that may have landed", () => {
    forAll(input).hold((values) => {
      fc.pre(terminal.includes(values.kind) || (values.kind === "ambiguous" && !values.repeatable));
      expect(delayOf(values)).toBeUndefined();
    });
  });

  it("retries everything else, with at most three attempts", () => {
    forAll(input).hold((args) => {
      fc.pre(passing.includes(args.kind) || (args.kind === "ambiguous" && args.repeatable));
      const delay = delayOf({ ...args, retryAfterMs: undefined });
      if (args.attempt < 2) expect(delay).toBeGreaterThanOrEqual(0);
      else expect(delay).toBeUndefined();
    });
  });

  it("waits exactly as long as Slack asks for, or gives up", () => {
    const rateLimit = {
      kind: "rate_limited",
      attempt: 0,
      repeatable: false,
      random: () => 0,
      retryAfterMs: 5000,
    } as const;
    expect(delayOf({ ...rateLimit, maxDelayMs: 5000 })).toBe(5000);
    expect(delayOf({ ...rateLimit, maxDelayMs: 4999 })).toBeUndefined();
    forAll(input).hold((args) => {
      const { retryAfterMs, maxDelayMs } = args;
      const delay = delayOf({ ...args, kind: "rate_limited", attempt: 0 });
      if (retryAfterMs === undefined) return;
      expect(delay).toBe(retryAfterMs <= maxDelayMs ? retryAfterMs : undefined);
    });
  });
});
