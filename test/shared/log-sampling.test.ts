/** Which tasks are told in full. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createLog, isDebugged } from "../../lambdas/shared/log.ts";

const ratio = fc.double({ min: 0, max: 1, noNaN: true });

describe("a task told in full", () => {
  it("is chosen by every ratio above one that chooses it", () => {
    fc.assert(
      fc.property(fc.uuid(), ratio, ratio, (requestId, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        expect(isDebugged({ requestId, ratio: less }) && !isDebugged({ requestId, ratio: more })).toBe(false);
      }),
    );
  });

  it("is the same for both zones, whatever letter case its id comes in", () => {
    fc.assert(
      fc.property(fc.uuid(), ratio, (requestId, share) => {
        const other = isDebugged({ requestId: requestId.toUpperCase(), ratio: share });
        expect(isDebugged({ requestId, ratio: share })).toBe(other);
      }),
    );
  });

  it.each([0.02, 0.1, 0.5, 0.9])("is one of a share of about %s", (share) => {
    const count = 10_000;
    const chosen = Array.from({ length: count }, () => randomUUID()).filter((id) =>
      isDebugged({ requestId: id, ratio: share }),
    );
    // Six standard deviations: one run in hundreds of millions lies outside.
    const tolerance = 6 * Math.sqrt((share * (1 - share)) / count);
    expect(Math.abs(chosen.length / count - share)).toBeLessThan(tolerance);
  });

  it("is every one at 1 and none at 0", () => {
    fc.assert(
      fc.property(fc.string(), (requestId) => {
        expect([isDebugged({ requestId, ratio: 0 }), isDebugged({ requestId, ratio: 1 })]).toEqual([false, true]);
      }),
    );
  });
});

describe("a log with a debug ratio", () => {
  const half = 0.5;
  const ids = Array.from({ length: 50 }, () => randomUUID());
  const [chosen = "", other = ""] = [true, false].map(
    (wanted) => ids.find((requestId) => isDebugged({ requestId, ratio: half }) === wanted) ?? "",
  );

  function logToArray() {
    const lines: string[] = [];
    const settings = { level: "error", debugRatio: half } as const;
    const log = createLog({ service: "execution", ...settings, write: (line) => lines.push(line) });
    return { log, messages: () => lines.map((line) => JSON.parse(line).message) };
  }

  it("writes every line of such a task, whether the id is the line's own or bound to it", () => {
    const { log, messages } = logToArray();
    log.debug("own", { request_id: chosen });
    log.with({ request_id: chosen }).with({ attempt: 1 }).info("bound");
    expect(messages()).toEqual(["own", "bound"]);
  });

  it("goes by the level for all other tasks, and for what is of no task", () => {
    const { log, messages } = logToArray();
    log.warn("below", { request_id: other });
    log.warn("below");
    log.error("above", { request_id: other });
    log.error("above");
    expect(messages()).toEqual(["above", "above"]);
  });
});
