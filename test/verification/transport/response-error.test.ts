import { describe, expect, it } from "@jest/globals";
import { isRetryable } from "@sekisho/contracts/errors.ts";
import {
  readRefusedMembers,
  statusToReason,
} from "@sekisho/verification/transport/response-error.ts";
import { isRedirection } from "@sekisho/verification/transport/response-head.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

describe("an HTTP status without a JSON-RPC body", () => {
  it.each([
    [299, false],
    [300, true],
    [399, true],
    [400, false],
  ])("decides whether the status %i is a redirect: %s", (status, isRedirect) => {
    expect(isRedirection(status)).toBe(isRedirect);
  });

  it.each([
    [399, {}],
    [400, { issues: [{ path: "channel", message: "is missing" }] }],
  ])("reads the refused members from a body with the status %i: %j", (status, reason) => {
    const detail = [{ loc: ["channel"], msg: "is missing" }];
    const body = Buffer.from(JSON.stringify({ detail }));
    expect(readRefusedMembers({ status, body })).toEqual(reason);
  });

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
  ] as const)("maps the status %i to %s", (status, reason) => {
    expect(statusToReason(status)).toBe(reason);
  });

  it("allows a repetition only for 429 and 503, and reads no status as task_not_found", () => {
    forAll(fc.integer({ min: 200, max: 599 })).hold((status) => {
      const reason = statusToReason(status);
      expect(isRetryable(reason)).toBe(status === 429 || status === 503);
      expect(reason === "ambiguous").toBe(status >= 500 && status !== 503);
      expect(reason).not.toBe("task_not_found");
    });
  });
});
