/** The target of spans: its URL, and the headers that authenticate the sender. */

import { createCachedValue } from "../async/cache.ts";
import type { AwsDependencies } from "../aws/credentials.ts";
import { createSigner } from "../aws/signer.ts";

export type OtlpTarget = {
  url: URL;
  headersOf(body: Uint8Array): Promise<Record<string, string>>;
  /** Reads secrets again after the target refused the sender. */
  forget(): void;
};

/** Reads the headers before the first post, and again after the collector refused them. */
export function createCollectorTarget(options: {
  url: string;
  readHeaders: () => Promise<Record<string, string>>;
}): OtlpTarget {
  const { url, readHeaders } = options;
  const cachedHeaders = createCachedValue({
    now: Date.now,
    load: async () => ({ value: await readHeaders(), keepMs: Number.POSITIVE_INFINITY }),
  });
  return {
    url: new URL(url),
    headersOf: async () => ({ ...(await cachedHeaders.get()), "content-type": "application/json" }),
    forget: () => cachedHeaders.forget(() => true),
  };
}

/** X-Ray's OTLP endpoint (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html). */
export function createXrayTarget({ region, credentials, endpointOf }: AwsDependencies): OtlpTarget {
  const url = new URL("/v1/traces", endpointOf("xray"));
  const sign = createSigner({ service: "xray", region, credentials });
  const headers = { "content-type": "application/json" };
  return { url, headersOf: (body) => sign({ method: "POST", url, headers, body }), forget() {} };
}
