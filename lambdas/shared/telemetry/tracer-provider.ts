/** OpenTelemetry's SDK as we need it: spans go to one exporter in batches, and whoever began a trace has decided whether it is kept. */
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
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { isSampled, type StartRoot } from "./otel-spans.ts";
import { isTraceSampled } from "./telemetry.ts";

/** The most spans that wait for the exporter. Further ones are dropped, so that no task waits. */
const maxWaiting = 2048;
const batchSize = 512;

export type OwnProvider = {
  provider: Provider;
  startRoot: StartRoot;
  /** Sends what waits. Rejects where that fails. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

export function createTracerProvider({
  exporter,
  resource,
  sampleRatio,
  sendEveryMs,
  exportTimeoutMs,
}: {
  exporter: SpanExporter;
  resource: Record<string, string>;
  sampleRatio: number;
  sendEveryMs: number;
  exportTimeoutMs: number;
}): OwnProvider {
  let root: SpanContext | undefined;
  const random = new RandomIdGenerator();
  const idGenerator = {
    generateTraceId: () => root?.traceId ?? random.generateTraceId(),
    generateSpanId: () => root?.spanId ?? random.generateSpanId(),
  };
  /** Follows the parent's sampled flag; without one the trace begins here. */
  const sampler: Sampler = {
    shouldSample(parent, traceId) {
      const flagged = root ?? api.getSpanContext(parent);
      const keeps = flagged === undefined ? isTraceSampled({ traceId, sampleRatio }) : isSampled(flagged);
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
export function setGlobalProvider(provider: Provider): () => void {
  return api.setGlobalTracerProvider(provider) ? () => api.disable() : () => {};
}
