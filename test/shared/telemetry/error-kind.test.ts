import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../contracts/errors.ts";
import { errorKind, errorType } from "../../../lambdas/shared/telemetry/error-kind.ts";

const error = (fields: object) => Object.assign(new Error("a text of somebody"), fields);

function unreadable(): never {
  throw new Error("a text of somebody");
}

describe("the kind of an error", () => {
  it.each([
    ["ECONNREFUSED", error({ code: "ECONNREFUSED", name: "SystemError" })],
    ["TypeError", new TypeError("text")],
    ["AWS.SimpleQueueService.NonExistentQueue", error({ name: "AWS.SimpleQueueService.NonExistentQueue" })],
    ["TimeoutError", new DOMException("text", "TimeoutError")],
    ["Named", error({ code: "a text of somebody", name: "Named" })],
    ["Error", error({ name: "a text of somebody" })],
    ["Error", error({ name: undefined })],
    ["object", { code: "SECRET", name: "Secret" }],
    ["string", "SECRET"],
    ["undefined", undefined],
    ["object", null],
  ])("is %s", (kind, thrown) => {
    expect(errorKind(thrown)).toBe(kind);
  });

  it.each([
    ["a getter that throws", Object.defineProperty(new Error(), "code", { get: () => unreadable() }), "Error"],
    ["a code that is no text", error({ code: Object.create(null) }), "Error"],
    ["a proxy that throws", new Proxy({}, { get: () => unreadable() }), "object"],
  ])("is found without a throw for %s", (_what, thrown, kind) => {
    expect(errorKind(thrown)).toBe(kind);
    expect(errorType(thrown)).toBe(kind);
  });

  it("is on a span the reason or the kind where it is one of ours", () => {
    expect(errorType(new SekishoError("unavailable"))).toBe("unavailable");
    expect(errorType(error({ kind: "rate_limited" }))).toBe("rate_limited");
    expect(errorType(error({ reason: "A text", code: "ECONNRESET" }))).toBe("ECONNRESET");
    expect(errorType(null)).toBe("object");
  });
});
