/** The one error class: fixed texts, which reasons may be retried, and what becomes of other thrown values. */
import { describe, expect, it } from "@jest/globals";
import { reasonSchema } from "@sekisho/contracts/error-data.ts";
import { isRetryable, reasons, SekishoError } from "@sekisho/contracts/errors.ts";
import fc from "fast-check";

function unreadable(): never {
  throw new Error("a text of an agent");
}

describe("a SekishoError", () => {
  it("uses one fixed message per reason, independent of the cause", () => {
    fc.assert(
      fc.property(fc.constantFrom(...reasons), fc.string({ minLength: 3 }), (reason, text) => {
        const cause = new Error(text);
        const error = new SekishoError(reason, { cause });
        expect(error.message).toBe(new SekishoError(reason).message);
        expect(error.cause).toBe(cause);
      }),
    );
    expect(new Set(reasons.map((reason) => new SekishoError(reason).message)).size).toBe(
      reasons.length,
    );
  });

  it("allows a repeat only for the retryable reasons", () => {
    expect(reasons.filter(isRetryable)).toEqual(["rate_limited", "unavailable", "session_ending"]);
  });

  it("omits the cause unless one is given", () => {
    expect("cause" in new SekishoError("internal")).toBe(false);
  });

  it("passes a SekishoError through, and wraps any other thrown value as internal with its cause", () => {
    const own = new SekishoError("timeout");
    expect(SekishoError.from(own)).toBe(own);
    for (const cause of [new TypeError("secret"), "secret", undefined, null, 7]) {
      const error = SekishoError.from(cause);
      expect(error.reason).toBe("internal");
      expect(error.cause).toBe(cause);
      expect(error.message).not.toContain("secret");
    }
  });

  it("rejects a forged object as a SekishoError", () => {
    const mark = Symbol.for("sekisho.SekishoError");
    const forgedErrors: object[] = [
      { [mark]: true },
      { [mark]: true, reason: "a text of an agent", details: {} },
      { [mark]: true, reason: "toString", details: {} },
      { [mark]: true, reason: ["unavailable"], details: {} },
      { [mark]: true, reason: "unavailable", details: null },
      Object.defineProperty({ [mark]: true, details: {} }, "reason", { get: unreadable }),
      new Proxy({}, { has: unreadable }),
    ];
    for (const error of forgedErrors) {
      expect(error instanceof SekishoError).toBe(false);
      expect(SekishoError.from(error)).toMatchObject({
        reason: "internal",
        details: {},
        cause: error,
      });
    }
  });

  it("excludes ambiguous from the reasons on the wire", () => {
    expect(reasonSchema.safeParse("ambiguous").success).toBe(false);
  });
});
