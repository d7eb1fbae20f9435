/** The authorizer `sigv4`: AWS Signature Version 4, for API Gateway, Function URLs and what else AWS signs. */
import type { AwsCredentialsProvider } from "../../../shared/aws/credentials.ts";
import { defaultAwsCredentials } from "../../../shared/aws/default-credentials.ts";
import { createSigner } from "../../../shared/aws/signer.ts";
import type { Authorizer } from "./authorizer.ts";

/** Proxies on the way may rewrite these (W3C Trace Context, section 3.4), which must not break the signature. */
const unsigned = ["traceparent", "tracestate"];

/** `service` is the signing name, such as `lambda`, `execute-api` or `bedrock-agentcore`. */
export function createSigV4Authorizer({
  service,
  region,
  credentials = defaultAwsCredentials(),
  now = Date.now,
}: {
  service: string;
  region: string;
  credentials?: AwsCredentialsProvider;
  now?: () => number;
}): Authorizer {
  const sign = createSigner({ service, region, credentials, unsigned, now });
  return {
    async authorize({ method, url, headers, body }) {
      const signed = await sign({ method, url, headers, body });
      return Object.fromEntries(Object.entries(signed).filter(([name]) => !(name in headers)));
    },
  };
}
