/** W3C Trace Context: what is taken from a caller, and how a trace goes on. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { errorKind, errorType } from "@sekisho/runtime/error-kind.ts";
import {
  createChildTrace,
  createMetricBound,
  createTrace,
  parseTrace,
  readTraceId,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${spanId}-01`;
const count = (digits: number) => "ab".repeat(digits / 2);

describe("a trace from a caller", () => {
  it("accepts a trace from a caller with its state", () => {
    expect(parseTrace({ traceparent })).toEqual({ traceparent });
    expect(parseTrace({ traceparent, tracestate: "vendor=1" })).toEqual({
      traceparent,
      tracestate: "vendor=1",
    });
    expect(parseTrace({ traceparent: `00-${traceId}-${spanId}-00` })).toBeDefined();
  });

  it("drops a state that is too long or empty", () => {
    expect(parseTrace({ traceparent, tracestate: "x".repeat(512) })).toHaveProperty("tracestate");
    expect(parseTrace({ traceparent, tracestate: "x".repeat(513) })).toEqual({ traceparent });
    expect(parseTrace({ traceparent, tracestate: "" })).toEqual({ traceparent });
    expect(parseTrace({ traceparent, tracestate: null })).toEqual({ traceparent });
  });

  it.each<[string, string | null | undefined]>([
    ["absent", undefined],
    ["null", null],
    ["empty", ""],
    ["malformed", "anything"],
    ["of the forbidden version", `ff-${traceId}-${spanId}-01`],
    ["in upper case", traceparent.toUpperCase()],
    ["of a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["of a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["too short", traceparent.slice(0, -1)],
    ["too long for its version", `${traceparent}-00`],
    ["followed by a line break", `${traceparent}\n`],
  ])("refuses a traceparent that is %s", (_name, value) => {
    expect(parseTrace({ traceparent: value, tracestate: "vendor=1" })).toBeUndefined();
  });

  it("never throws on any header", () => {
    forAll(fc.string(), fc.string()).hold((parent, state) => {
      const trace = parseTrace({ traceparent: parent, tracestate: state });
      expect(trace === undefined || trace.traceparent === parent).toBe(true);
    });
  });
});

describe("a trace", () => {
  it("starts a sampled trace that the parser accepts", () => {
    expect(createTrace({ random: count }).traceparent).toBe(
      `00-${"ab".repeat(16)}-${"ab".repeat(8)}-01`,
    );
    const trace = createTrace();
    expect(parseTrace(trace)).toEqual(trace);
    expect(createTrace().traceparent).not.toBe(trace.traceparent);
  });

  it("creates a child with the same trace id, flags and state and a new span id", () => {
    const child = createChildTrace(
      { traceparent: `00-${traceId}-${spanId}-00`, tracestate: "vendor=1" },
      count,
    );
    expect(child).toEqual({
      traceparent: `00-${traceId}-${"ab".repeat(8)}-00`,
      tracestate: "vendor=1",
    });
    expect(readTraceId(child)).toBe(traceId);
  });

  it("starts a new trace if the parent is malformed", () => {
    expect(createChildTrace({ traceparent: "broken", tracestate: "vendor=1" }, count)).toEqual(
      createTrace({ random: count }),
    );
  });
});

const error = (fields: object) => Object.assign(new Error("a text of somebody"), fields);

function unreadable(): never {
  throw new Error("a text of somebody");
}

describe("the kind of an error", () => {
  it.each([
    ["ECONNREFUSED", error({ code: "ECONNREFUSED", name: "SystemError" })],
    ["TypeError", new TypeError("text")],
    [
      "AWS.SimpleQueueService.NonExistentQueue",
      error({ name: "AWS.SimpleQueueService.NonExistentQueue" }),
    ],
    ["TimeoutError", new DOMException("text", "TimeoutError")],
    ["Named", error({ code: "a text of somebody", name: "Named" })],
    ["Error", error({ name: "a text of somebody" })],
    ["Error", error({ name: undefined })],
    ["object", { code: "SECRET", name: "Secret" }],
    ["string", "SECRET"],
    ["undefined", undefined],
    ["object", null],
  ])("reduces an error to the kind %s", (kind, error) => {
    expect(errorKind(error)).toBe(kind);
  });

  it.each([
    [
      "a getter that throws",
      Object.defineProperty(new Error(), "code", { get: () => unreadable() }),
      "Error",
    ],
    ["a code that is not a string", error({ code: Object.create(null) }), "Error"],
    ["a proxy that throws", new Proxy({}, { get: () => unreadable() }), "object"],
  ])("finds the kind without throwing for %s", (_what, error, kind) => {
    expect(errorKind(error)).toBe(kind);
    expect(errorType(error)).toBe(kind);
  });

  it("prefers the reason or kind of an own error as the error type of a span", () => {
    expect(errorType(new SekishoError("unavailable"))).toBe("unavailable");
    expect(errorType(error({ kind: "rate_limited" }))).toBe("rate_limited");
    expect(errorType(error({ reason: "A text", code: "ECONNRESET" }))).toBe("ECONNRESET");
    expect(errorType(null)).toBe("object");
  });
});

describe("the labels of a metric", () => {
  it("allows two hundred combinations of label values and then only known ones", () => {
    const limitLabels = createMetricBound();
    for (let n = 0; n < 200; n++)
      expect(limitLabels("calls", { peer: `p${n}` })).toEqual({ peer: `p${n}` });
    expect(limitLabels("calls", { peer: "one-more" })).toEqual({ peer: "other" });
    expect(limitLabels("calls", { peer: "p7" })).toEqual({ peer: "p7" });
    expect(limitLabels("failures", { peer: "one-more" })).toEqual({ peer: "one-more" });
  });
});
