/** X-Ray's own OTLP endpoint (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html). */
import type { AwsSurroundings } from "../aws/credentials.ts";
import { createSigner } from "../aws/signer.ts";
import type { OtlpTarget } from "./otlp-target.ts";

/** A file of its own, and given by the entry: a container outside of AWS carries no signer. */
export function xrayTarget({ region, credentials, endpointOf }: AwsSurroundings): OtlpTarget {
  const url = new URL("/v1/traces", endpointOf("xray"));
  const sign = createSigner({ service: "xray", region, credentials });
  const headers = { "content-type": "application/json" };
  return { url, headersOf: (body) => sign({ method: "POST", url, headers, body }), forget() {} };
}
