/** A collector of OTLP as JSON that can misbehave. */
import { type Received, startWebServer } from "./web-server.ts";

export type CollectedSpan = {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Undefined for a trace's root span. */
  parent: string | undefined;
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  failed: boolean;
};

type Value = {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
};
type KeyValue = { key: string; value: Value };
type WireSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: KeyValue[];
  status: { code: number };
};
type WireRequest = {
  resourceSpans: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: WireSpan[] }[] }[];
};

/** `answer` answers each request; by default with success. */
export async function startOtlpCollector({
  answer = async () => Response.json({ partialSuccess: {} }),
}: {
  answer?: (call: Received) => Promise<Response>;
} = {}) {
  const requests: Received[] = [];
  const server = await startWebServer({
    handle: async (request) => {
      requests.push(request);
      return answer(request);
    },
  });
  const textOf = ({ body }: Received) => Buffer.from(body).toString();
  return {
    /** For `telemetry.traces.exporter.url`. */
    url: `${server.url}/v1/traces`,
    origin: server.url,
    received: requests,
    bytes: () => requests.map(textOf).join("\n"),
    resources: () =>
      requestsOf(requests).flatMap(({ resourceSpans }) => resourceSpans.map(resourceOf)),
    spans: (): CollectedSpan[] => requestsOf(requests).flatMap(spansOf),
    close: server.close,
  };
  function requestsOf(all: Received[]): WireRequest[] {
    return all.map((each) => JSON.parse(textOf(each)));
  }
}

function resourceOf({ resource }: WireRequest["resourceSpans"][number]): Record<string, unknown> {
  return valuesOf(resource.attributes);
}

function spansOf({ resourceSpans }: WireRequest): CollectedSpan[] {
  return resourceSpans.flatMap((ofResource) => {
    const service = String(resourceOf(ofResource)["service.name"]);
    return ofResource.scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => collected({ service, span })),
    );
  });
}

function collected({ service, span }: { service: string; span: WireSpan }): CollectedSpan {
  const { name, traceId, spanId, parentSpanId, kind, status } = span;
  return {
    ...{ service, name, traceId, spanId, kind },
    parent: parentSpanId || undefined,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: valuesOf(span.attributes),
    failed: status.code === 2,
  };
}

function valuesOf(attributes: KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
