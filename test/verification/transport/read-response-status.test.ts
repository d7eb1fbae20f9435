import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isRetryable } from "../../../contracts/errors.ts";
import { statusToReason } from "../../../lambdas/verification/transport/read-response.ts";

describe("an HTTP status without a JSON-RPC body", () => {
  it.each([
    [401, "unauthenticated"],
    [403, "permission_denied"],
    [404, "invalid_response"],
    [405, "invalid_response"],
    [413, "payload_too_large"],
    [429, "rate_limited"],
    [500, "ambiguous"],
    [502, "ambiguous"],
    [503, "unavailable"],
    [504, "ambiguous"],
  ] as const)("%i is %s", (status, reason) => {
    expect(statusToReason(status)).toBe(reason);
  });

  it("lets a request be repeated for 429 and 503 alone, and calls a lost task by no status", () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), (status) => {
        const reason = statusToReason(status);
        expect(isRetryable(reason)).toBe(status === 429 || status === 503);
        expect(reason === "ambiguous").toBe(status >= 500 && status !== 503);
        expect(reason).not.toBe("task_not_found");
      }),
    );
  });
});
