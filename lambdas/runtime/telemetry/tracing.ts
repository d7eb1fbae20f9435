/** Opens spans as configured: exported by our own SDK instance, or left to the SDK that the application has registered. */

import {
  trace as api,
  context,
  type TracerProvider as Provider,
  ROOT_CONTEXT,
  type SpanContext,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { waitAtMost } from "../async/deadline.ts";
import type { Log } from "../log.ts";
import { createOtelSpans, isSampled, type StartRoot } from "./otel-spans.ts";
import { createOtlpExporter, createOtlpPost } from "./otlp-exporter.ts";
import type { OtlpTarget } from "./otlp-target.ts";
import { drawDigits, isTraceSampled, type Spans } from "./telemetry.ts";

export type Tracing = {
  spans: Spans;
  /** Sends what is left within `flushMs`. Never rejects. */
  flush(): Promise<void>;
  /** The same, for the last time. */
  close(): Promise<void>;
};

/** The limit for sending one batch, so that a slow one does not delay the next. */
const exportTimeoutMs = 5000;
const sendEveryMs = 5000;

/** Opens nothing before the first spans are sent. */
export function openTracing(options: {
  /** The share of tasks, from 0 to 1, whose spans are sent. */
  sampleRatio: number;
  /** Undefined if spans are not sent. */
  target: OtlpTarget | undefined;
  service: "verification" | "execution";
  /** Attributes of the process, by OpenTelemetry's semantic conventions for resources. */
  resource?: Record<string, string>;
  flushMs: number;
  log: Log;
}): Tracing {
  const { sampleRatio, target, service, resource = {}, flushMs, log } = options;
  if (target === undefined) {
    return {
      spans: createOtelSpans({ sampleRatio }),
      flush: async () => {},
      close: async () => {},
    };
  }
  const post = createOtlpPost({ target });
  const spanExporter = createOtlpExporter({ post, timeoutMs: exportTimeoutMs, log });
  const own = createTracerProvider({
    exporter: spanExporter,
    resource: { "service.name": `sekisho-${service}`, "service.namespace": "sekisho", ...resource },
    sampleRatio,
    sendEveryMs,
    exportTimeoutMs: exportTimeoutMs + 1000,
  });
  enableContextManager();
  // Spans that an agent creates belong to the Execution zone, even if both zones are one process.
  const restoreProvider = service === "execution" ? setGlobalProvider(own.provider) : () => {};
  const { provider, startRoot, flush, close } = own;
  const waitForFlush = async (work: Promise<unknown>) => {
    await waitAtMost({ work, timeoutMs: flushMs }).catch(() => {});
  };
  return {
    spans: createOtelSpans({ tracer: provider.getTracer("sekisho"), startRoot, sampleRatio }),
    flush: () => waitForFlush(Promise.all([flush(), spanExporter.settled()])),
    async close() {
      restoreProvider();
      await waitForFlush(close());
    },
  };
}

/** The most spans that wait for the exporter. Further ones are dropped, so that no task waits. */
const maxWaiting = 2048;
const batchSize = 512;

export type OwnProvider = {
  provider: Provider;
  startRoot: StartRoot;
  /** Sends what is left. Rejects if that fails. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

export function createTracerProvider(options: {
  exporter: SpanExporter;
  resource: Record<string, string>;
  sampleRatio: number;
  sendEveryMs: number;
  exportTimeoutMs: number;
}): OwnProvider {
  const { exporter, resource, sampleRatio, sendEveryMs, exportTimeoutMs } = options;
  let root: SpanContext | undefined;
  // OpenTelemetry's own generator uses Math.random, whose state would be the same in all processes that are restored from one snapshot.
  const idGenerator = {
    generateTraceId: () => root?.traceId ?? drawDigits(32),
    generateSpanId: () => root?.spanId ?? drawDigits(16),
  };
  /** Follows the parent's sampled flag; without one the trace begins here. */
  const sampler: Sampler = {
    shouldSample(parent, traceId) {
      const flagged = root ?? api.getSpanContext(parent);
      const keeps =
        flagged === undefined ? isTraceSampled({ traceId, sampleRatio }) : isSampled(flagged);
      return {
        decision: keeps ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
        ...(flagged?.traceState && { traceState: flagged.traceState }),
      };
    },
    toString: () => "ByFlag",
  };
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: maxWaiting,
    maxExportBatchSize: batchSize,
    scheduledDelayMillis: sendEveryMs,
    exportTimeoutMillis: exportTimeoutMs,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resource),
    sampler,
    idGenerator,
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("sekisho");
  return {
    provider,
    startRoot({ name, kind, ids, startTime }) {
      root = ids;
      try {
        return tracer.startSpan(name, { kind, startTime, root: true }, ROOT_CONTEXT);
      } finally {
        root = undefined;
      }
    },
    flush: () => processor.forceFlush(),
    close: () => provider.shutdown(),
  };
}

/** Enables the context manager, by which a span knows its parent. One that an application has set stays. */
export function enableContextManager(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}

/** Registers the provider for spans that an agent creates itself, unless the application has its own. Returns a function that undoes it. */
function setGlobalProvider(provider: Provider): () => void {
  return api.setGlobalTracerProvider(provider) ? () => api.disable() : () => {};
}
