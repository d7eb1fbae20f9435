import { describe, expect, it } from "@jest/globals";
import { freshnessMs } from "../../../../lambdas/verification/transport/a2a/card-source.ts";

describe("how long a card is fresh", () => {
  it.each([
    ["max-age=600", 600_000],
    ["public, max-age=120, must-revalidate", 120_000],
    ["Public,MAX-AGE=120", 120_000],
    ['max-age="120"', 120_000],
  ])("is what the peer says: %s", (cacheControl, ms) => {
    expect(freshnessMs(cacheControl)).toBe(ms);
  });

  it.each(["max-age=0", "max-age=1", "no-store", "no-cache, max-age=600"])("is a minute at least: %s", (text) => {
    expect(freshnessMs(text)).toBe(60_000);
  });

  it("is an hour at most, so that a card that changed is found", () => {
    expect(freshnessMs("max-age=31536000")).toBe(60 * 60_000);
  });

  it.each([undefined, "", "public", "s-maxage=900", "max-age=soon", "max-age=-1"])(
    "is five minutes where the peer says nothing of it: %s",
    (text) => {
      expect(freshnessMs(text)).toBe(5 * 60_000);
    },
  );
});
