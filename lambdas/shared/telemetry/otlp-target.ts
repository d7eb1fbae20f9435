/** Where spans are posted to, and what proves who posts them. */
import type { AwsSurroundings } from "../aws/credentials.ts";
import { createSigner } from "../aws/signer.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";

export type OtlpTarget = {
  url: URL;
  headersOf(body: Uint8Array): Promise<Record<string, string>>;
  /** It was not let in: what is kept of secrets is read anew. */
  forget(): void;
};

type Exporter = Exclude<TelemetryConfig["traces"]["exporter"], { type: "none" }>;

const contentType = { "content-type": "application/json" };

/** Throws where `xray` is wanted and there are no AWS surroundings. Nothing is read before the first post. */
export function otlpTarget({
  exporter,
  readSecret,
  aws,
}: {
  exporter: Exporter;
  readSecret: (reference: SecretReference) => Promise<string>;
  aws: AwsSurroundings | undefined;
}): OtlpTarget {
  return exporter.type === "xray" ? xrayTarget(aws) : collectorTarget({ exporter, readSecret });
}

function collectorTarget({
  exporter: { url, headers },
  readSecret,
}: {
  exporter: Extract<Exporter, { type: "otlp" }>;
  readSecret: (reference: SecretReference) => Promise<string>;
}): OtlpTarget {
  let kept: Promise<Record<string, string>> | undefined;
  const read = async () => {
    const entries = Object.entries(headers).map(async ([name, secret]) => [name, await readSecret(secret)] as const);
    return Object.fromEntries(await Promise.all(entries));
  };
  return {
    url: new URL(url),
    async headersOf() {
      kept ??= read();
      try {
        return { ...(await kept), ...contentType };
      } catch (thrown) {
        kept = undefined;
        throw thrown;
      }
    },
    forget() {
      kept = undefined;
    },
  };
}

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html */
function xrayTarget(aws: AwsSurroundings | undefined): OtlpTarget {
  if (aws === undefined) {
    throw new Error(
      'telemetry.traces.exporter: "xray" needs an AWS region (AWS_REGION) and its credentials; use "otlp".',
    );
  }
  const { region, credentials, endpointOf } = aws;
  const url = new URL("/v1/traces", endpointOf("xray"));
  const sign = createSigner({ service: "xray", region, credentials });
  return { url, headersOf: (body) => sign({ method: "POST", url, headers: contentType, body }), forget() {} };
}
