/** Where spans are posted to, and what proves who posts them. */

import { createCachedValue } from "../async/cache.ts";
import type { AwsDependencies } from "../aws/credentials.ts";
import { createSigner } from "../aws/signer.ts";
import { ConfigError } from "../config/load.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";

export type OtlpTarget = {
  url: URL;
  headersOf(body: Uint8Array): Promise<Record<string, string>>;
  /** It was not let in: what is kept of secrets is read anew. */
  forget(): void;
};

type Exporter = Exclude<TelemetryConfig["traces"]["exporter"], { type: "none" }>;
type ReadSecret = (reference: SecretReference) => Promise<string>;

/** Throws a ConfigError where `xray` is wanted and cannot be had. Nothing is read before the first post. */
export function createOtlpTarget({
  exporter,
  readSecret,
  xray,
}: {
  exporter: Exporter;
  readSecret: ReadSecret;
  xray: OtlpTarget | undefined;
}): OtlpTarget {
  if (exporter.type === "otlp") return createCollectorTarget({ exporter, readSecret });
  if (xray !== undefined) return xray;
  const problem =
    'telemetry.traces.exporter: "xray" needs AWS: set AWS_REGION; in a container, or without AWS, use "otlp"';
  throw new ConfigError("The configuration", [problem]);
}

function createCollectorTarget({
  exporter: { url, headers },
  readSecret,
}: {
  exporter: Extract<Exporter, { type: "otlp" }>;
  readSecret: ReadSecret;
}): OtlpTarget {
  const read = async () => {
    const entries = Object.entries(headers).map(async ([name, secret]) => [name, await readSecret(secret)] as const);
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

/**
 * X-Ray's OTLP endpoint (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html). The entry passes it
 * in where the process runs on AWS.
 */
export function createXrayTarget({ region, credentials, endpointOf }: AwsDependencies): OtlpTarget {
  const url = new URL("/v1/traces", endpointOf("xray"));
  const sign = createSigner({ service: "xray", region, credentials });
  const headers = { "content-type": "application/json" };
  return { url, headersOf: (body) => sign({ method: "POST", url, headers, body }), forget() {} };
}
