/** Opens spans as configured: exported by our own SDK instance, or left to the SDK that the application has registered. */
import { waitAtMost } from "../async/deadline.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";
import type { Log } from "../log.ts";
import { createOtelSpans } from "./otel-spans.ts";
import { createOtlpExporter, createOtlpPost } from "./otlp-exporter.ts";
import { createOtlpTarget, type OtlpTarget } from "./otlp-target.ts";
import type { Spans } from "./telemetry.ts";
import { createTracerProvider, enableContextManager, setGlobalProvider } from "./tracer-provider.ts";

export type Tracing = {
  spans: Spans;
  /** Sends what waits, and takes no longer than `flushMs`. Never rejects. */
  flush(): Promise<void>;
  /** The same for the last time. */
  close(): Promise<void>;
};

/** The limit for sending one batch, so that a slow one does not delay the next. */
const exportTimeoutMs = 5000;
const sendEveryMs = 5000;

/** Opens nothing before the first spans are sent. Throws where the exporter cannot be used here. */
export function openTracing({
  config: { exporter, sampleRatio },
  service,
  resource = {},
  readSecret,
  xray,
  flushMs,
  log,
}: {
  config: TelemetryConfig["traces"];
  service: "verification" | "execution";
  /** Attributes of the process, by OpenTelemetry's semantic conventions for resources. */
  resource?: Record<string, string>;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Undefined where it cannot be used. */
  xray?: OtlpTarget | undefined;
  flushMs: number;
  log: Log;
}): Tracing {
  if (exporter.type === "none") {
    return { spans: createOtelSpans({ sampleRatio }), flush: async () => {}, close: async () => {} };
  }
  const post = createOtlpPost({ target: createOtlpTarget({ exporter, readSecret, xray }) });
  const spanExporter = createOtlpExporter({ post, timeoutMs: exportTimeoutMs, log });
  const own = createTracerProvider({
    exporter: spanExporter,
    resource: { "service.name": `sekisho-${service}`, "service.namespace": "sekisho", ...resource },
    sampleRatio,
    sendEveryMs,
    exportTimeoutMs: exportTimeoutMs + 1000,
  });
  enableContextManager();
  // Agents run in the Execution zone: what they trace themselves is of that service, also where both are one process.
  const restoreProvider = service === "execution" ? setGlobalProvider(own.provider) : () => {};
  const { provider, startRoot, flush, close } = own;
  const settled = async (work: Promise<unknown>) => {
    await waitAtMost({ work, timeoutMs: flushMs }).catch(() => {});
  };
  return {
    spans: createOtelSpans({ tracer: provider.getTracer("sekisho"), startRoot, sampleRatio }),
    flush: () => settled(Promise.all([flush(), spanExporter.settled()])),
    async close() {
      restoreProvider();
      await settled(close());
    },
  };
}
