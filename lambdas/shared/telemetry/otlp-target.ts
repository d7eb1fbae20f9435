/** The target of spans: its URL, and the headers that authenticate the sender. */

import { createCachedValue } from "../async/cache.ts";
import type { AwsDependencies } from "../aws/credentials.ts";
import { createSigner } from "../aws/signer.ts";
import { ConfigError } from "../config/config-error.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";

export type OtlpTarget = {
  url: URL;
  headersOf(body: Uint8Array): Promise<Record<string, string>>;
  /** Reads secrets again after the target refused the sender. */
  forget(): void;
};

type Exporter = Exclude<TelemetryConfig["traces"]["exporter"], { type: "none" }>;
type ReadSecret = (reference: SecretReference) => Promise<string>;

/** Throws a ConfigError if `xray` is configured but unavailable. Reads nothing before the first post. */
export function createOtlpTarget(options: {
  exporter: Exporter;
  readSecret: ReadSecret;
  xray: OtlpTarget | undefined;
}): OtlpTarget {
  const { exporter, readSecret, xray } = options;
  if (exporter.type === "otlp") return createCollectorTarget({ exporter, readSecret });
  if (xray !== undefined) return xray;
  const problem =
    'telemetry.traces.exporter: "xray" needs AWS: set AWS_REGION; in a container, or without AWS, use "otlp"';
  throw new ConfigError("The configuration", [problem]);
}

function createCollectorTarget(options: {
  exporter: Extract<Exporter, { type: "otlp" }>;
  readSecret: ReadSecret;
}): OtlpTarget {
  const { readSecret } = options;
  const { url, headers } = options.exporter;
  const read = async () => {
    const entries = Object.entries(headers).map(
      async ([name, secret]) => [name, await readSecret(secret)] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  };
  const cached = createCachedValue({
    now: Date.now,
    load: async () => ({ value: await read(), keepMs: Number.POSITIVE_INFINITY }),
  });
  return {
    url: new URL(url),
    headersOf: async () => ({ ...(await cached.get()), "content-type": "application/json" }),
    forget: () => cached.forget(() => true),
  };
}

/** X-Ray's OTLP endpoint (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html). */
export function createXrayTarget({ region, credentials, endpointOf }: AwsDependencies): OtlpTarget {
  const url = new URL("/v1/traces", endpointOf("xray"));
  const sign = createSigner({ service: "xray", region, credentials });
  const headers = { "content-type": "application/json" };
  return { url, headersOf: (body) => sign({ method: "POST", url, headers, body }), forget() {} };
}
