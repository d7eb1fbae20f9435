import { describe, expect, it } from "@jest/globals";
import { planRotation, rankKeys } from "@sekisho/sekisho/asker/rotation.ts";

const nowMs = Date.parse("2026-11-30T12:00:00Z");
const old = { id: "old", from: "2026-01-01T00:00:00Z" };
const young = { id: "young", from: "2026-11-28T00:00:00Z" };
const next = { id: "next", from: "2026-12-01T00:00:00Z" };
const plan = (keys: (typeof old)[], isEmergency = false) =>
  planRotation({ keys, nowMs, isEmergency });

describe("the next step of a rotation", () => {
  it("adds a key that signs in a day, and keeps the one that signs", () => {
    const added = { id: "2026-11-30t120000z", from: "2026-12-01T12:00:00Z" };
    expect(plan([old])).toEqual({ step: "add", keys: [old, added], added, dropped: [] });
  });

  it("waits while a key has not begun to sign", () => {
    expect(plan([old, next])).toMatchObject({
      ...{ step: "wait", reason: expect.stringContaining("next") },
    });
  });

  it("adds no key that would sign at once, before a key whose time has not come", () => {
    expect(plan([{ id: "later", from: "2027-01-01T00:00:00Z" }])).toMatchObject({
      ...{ step: "wait", reason: expect.stringContaining("later") },
    });
  });

  it("waits while the former key signed less than a day ago", () => {
    const recent = { id: "recent", from: "2026-11-29T12:00:01Z" };
    expect(plan([recent, old])).toMatchObject({
      ...{ step: "wait", reason: expect.stringContaining("old signed until 2026-11-29T12:00:01Z") },
    });
  });

  it("drops all keys that were superseded more than a day ago, and adds none", () => {
    const older = { id: "older", from: "2025-01-01T00:00:00Z" };
    expect(plan([young, old, older])).toEqual({
      ...{ step: "drop", keys: [young], dropped: [older, old] },
    });
  });

  it("replaces all keys at once in an emergency, whatever waits", () => {
    const added = { id: "2026-11-30t120000z", from: "2026-11-30T12:00:00Z" };
    const replaced = [old, young, next];
    const expected = { step: "replace", keys: [added], added, dropped: replaced };
    expect(plan(replaced, true)).toEqual(expected);
  });

  it("gives no key a name that one of the same day has or had", () => {
    const ids = [0, 1, 2].map((second) => {
      const at = { keys: [old], nowMs: nowMs + second * 1000, isEmergency: true };
      const rotation = planRotation(at);
      return "added" in rotation ? rotation.added?.id : undefined;
    });
    expect(new Set(ids).size).toBe(3);
  });
});

it("ranks the keys by what they do at this time", () => {
  const ranked = rankKeys([next, old, young], nowMs);
  expect(ranked.map(({ id, role }) => [id, role])).toEqual([
    ["old", "superseded"],
    ["young", "signs"],
    ["next", "next"],
  ]);
});
