/** Spans over OpenTelemetry's interface: without an SDK, with that of an application, and with ours. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { trace as api, context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { createOtelSpans } from "@sekisho/runtime/telemetry/otel-spans.ts";
import {
  createTrace,
  isTraceSampled,
  readTraceId,
  type Trace,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import { createTracerProvider, enableContextManager } from "@sekisho/runtime/telemetry/tracing.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

afterEach(() => {
  api.disable();
  context.disable();
});

const spanIdOf = ({ traceparent }: Trace) => traceparent.slice(36, 52);
const unsampled = () => createTrace({ sampleRatio: 0 });

/** An application's own SDK, as an agent's author would register it. */
function registerSdk() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  api.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return () =>
    exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      spanId: span.spanContext().spanId,
      parent: span.parentSpanContext?.spanId,
      attributes: span.attributes,
    }));
}

/** Our own, whose spans stay here. */
function ownSdk({ sampleRatio = 1 } = {}) {
  const exporter = new InMemorySpanExporter();
  const resource = { "service.name": "sekisho-test" };
  const own = createTracerProvider({
    exporter,
    resource,
    sampleRatio,
    sendEveryMs: 60_000,
    exportTimeoutMs: 1000,
  });
  enableContextManager();
  const spans = createOtelSpans({
    tracer: own.provider.getTracer("sekisho"),
    startRoot: own.startRoot,
    sampleRatio,
  });
  const takeSpans = async () => {
    await own.flush();
    return exporter.getFinishedSpans();
  };
  return { spans, sent: takeSpans, close: own.close };
}

describe("a process without an SDK", () => {
  it("gives each span an id of its own within the given trace", async () => {
    const trace = { ...createTrace(), tracestate: "vendor=1" };
    const innerTrace = await createOtelSpans().within(
      { name: "a", kind: "client", trace },
      async ({ trace }) => trace,
    );
    expect(readTraceId(innerTrace)).toBe(readTraceId(trace));
    expect(spanIdOf(innerTrace)).not.toBe(spanIdOf(trace));
    expect(innerTrace.tracestate).toBe("vendor=1");
  });

  it("begins a new trace for a request without one", async () => {
    const innerTrace = await createOtelSpans().within(
      { name: "a", kind: "server" },
      async ({ trace }) => trace,
    );
    expect(innerTrace.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });
});

describe("a process with its own SDK", () => {
  it("passes its spans to the SDK of the application and becomes the parent of its spans", async () => {
    const listFinished = registerSdk();
    const trace = createTrace();
    await createOtelSpans().within(
      { name: "ours", kind: "internal", trace, attributes: { kept: 1 } },
      async () => {
        await new Promise((resolve) => setImmediate(resolve));
        api.getTracer("agent").startSpan("theirs").end();
      },
    );
    const [theirs, ours] = listFinished();
    expect(ours).toMatchObject({ name: "ours", parent: spanIdOf(trace), attributes: { kept: 1 } });
    expect(theirs).toMatchObject({ name: "theirs", parent: ours?.spanId });
  });

  it("records the span of a whole task below the span id of its trace", () => {
    const listFinished = registerSdk();
    const trace = createTrace();
    createOtelSpans().root({ name: "task", kind: "internal", trace, startMs: 1000, endMs: 2000 });
    expect(listFinished()).toMatchObject([{ name: "task", parent: spanIdOf(trace) }]);
  });
});

describe("a span", () => {
  it("makes a running span the parent of the next span of the same trace only", async () => {
    const { spans, sent: takeSpans } = ownSdk();
    const [first, other] = [createTrace(), createTrace()];
    await spans.within({ name: "outer", kind: "consumer", trace: first }, async (outer) => {
      await spans.within({ name: "same", kind: "client", trace: first }, async () => {});
      await spans.within({ name: "none named", kind: "client" }, async () => {});
      await spans.within({ name: "other", kind: "client", trace: other }, async () => {});
      return outer;
    });
    const all = await takeSpans();
    const outer = all.find(({ name }) => name === "outer")?.spanContext().spanId;
    expect(
      Object.fromEntries(
        all.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId]),
      ),
    ).toEqual({
      outer: spanIdOf(first),
      same: outer,
      "none named": outer,
      other: spanIdOf(other),
    });
  });

  it("creates no span for work outside of any trace", async () => {
    const { spans, sent: takeSpans } = ownSdk();
    await spans.within({ name: "slack usergroups.users.list", kind: "client" }, async () => {});
    expect(await takeSpans()).toEqual([]);
  });

  it("records the kind of a failure and never its text", async () => {
    const { spans, sent: takeSpans } = ownSdk();
    const trace = createTrace();
    const failing = spans.within({ name: "a", kind: "client", trace }, async () => {
      throw Object.assign(new Error("hunter2"), { reason: "timeout", kind: "hunter2 too" });
    });
    await expect(failing).rejects.toThrow("hunter2");
    const [span] = await takeSpans();
    expect(span).toMatchObject({
      status: { code: 2 },
      attributes: { "error.type": "timeout" },
      events: [],
    });
    expect(JSON.stringify([span?.attributes, span?.status])).not.toContain("hunter2");
  });

  it("ends a span with the work and keeps its first failure", async () => {
    const { spans, sent: takeSpans } = ownSdk();
    await spans.within({ name: "a", kind: "client", trace: createTrace() }, async (span) => {
      expect(await takeSpans()).toEqual([]);
      span.set({ a: 1, b: undefined });
      span.fail("first");
      span.fail("second");
    });
    expect((await takeSpans())[0]?.attributes).toEqual({ a: 1, "error.type": "first" });
  });
});

describe("the root", () => {
  it("gives a root span the ids and times of the trace and no parent", async () => {
    const { spans, sent: takeSpans } = ownSdk();
    const trace = createTrace();
    spans.root({
      name: "task",
      kind: "internal",
      trace,
      startMs: 1000,
      endMs: 2500,
      failed: "timeout",
    });
    const [root] = await takeSpans();
    expect(root?.spanContext()).toMatchObject({
      traceId: readTraceId(trace),
      spanId: spanIdOf(trace),
    });
    expect(root).toMatchObject({
      startTime: [1, 0],
      endTime: [2, 5e8],
      attributes: { "error.type": "timeout" },
    });
    expect(root?.parentSpanContext).toBeUndefined();
  });

  it("chooses random ids again after a root span", async () => {
    const { spans, sent: takeSpans } = ownSdk();
    const trace = createTrace();
    spans.root({ name: "task", kind: "internal", trace, startMs: 1000, endMs: 2000 });
    await spans.within({ name: "next", kind: "server" }, async () => {});
    const [root, next] = await takeSpans();
    expect(next?.spanContext().traceId).not.toBe(root?.spanContext().traceId);
  });
});

describe("the sampling of a trace", () => {
  it("follows the sampling flag of a given trace, whatever its own ratio", async () => {
    const { spans, sent: takeSpans } = ownSdk({ sampleRatio: 1 });
    const innerTrace = await spans.within(
      { name: "a", kind: "server", trace: unsampled() },
      async ({ trace }) => trace,
    );
    spans.root({ name: "task", kind: "internal", trace: unsampled(), startMs: 1000, endMs: 2000 });
    expect(innerTrace.traceparent).toMatch(/-00$/);
    expect(await takeSpans()).toEqual([]);
    const none = ownSdk({ sampleRatio: 0 });
    await none.spans.within({ name: "kept", kind: "server", trace: createTrace() }, async () => {});
    none.spans.root({
      name: "task",
      kind: "internal",
      trace: createTrace(),
      startMs: 1000,
      endMs: 2000,
    });
    expect(await none.sent()).toHaveLength(2);
  });

  it("applies its own ratio to a trace that begins here", async () => {
    const { spans, sent: takeSpans } = ownSdk({ sampleRatio: 0 });
    const innerTrace = await spans.within(
      { name: "a", kind: "server" },
      async ({ trace }) => trace,
    );
    expect(innerTrace.traceparent).toMatch(/-00$/);
    expect(await takeSpans()).toEqual([]);
  });

  it("decides the same for the same id, and a larger ratio keeps all that a smaller one keeps", () => {
    const hex = fc.array(fc.constantFrom(..."0123456789abcdef"), { minLength: 32, maxLength: 32 });
    const ratio = fc.double({ min: 0, max: 1, noNaN: true });
    forAll(hex, ratio, ratio).hold((digits, a, b) => {
      const traceId = digits.join("");
      const [less, more] = [Math.min(a, b), Math.max(a, b)];
      return (
        !isTraceSampled({ traceId, sampleRatio: less }) ||
        isTraceSampled({ traceId, sampleRatio: more })
      );
    });
    const ids = Array.from({ length: 4000 }, () => readTraceId(createTrace()));
    const countSampled = (sampleRatio: number) =>
      ids.filter((traceId) => isTraceSampled({ traceId, sampleRatio })).length;
    expect(countSampled(0)).toBe(0);
    expect(countSampled(1)).toBe(4000);
    expect(Math.abs(countSampled(0.25) - 1000)).toBeLessThan(200);
  });
});
