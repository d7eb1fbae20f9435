/** The authorizer `sigv4`: AWS Signature Version 4, for API Gateway, Function URLs and other AWS endpoints. */

import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import type { AwsCredentialsProvider } from "../aws/credentials.ts";
import { createSigner } from "../aws/signer.ts";
import { type AssumedRole, cacheAssumedRole } from "./assumed-role.ts";
import type { Authorizer } from "./authorizer.ts";

/** Proxies may rewrite these headers (W3C Trace Context, section 3.4), so they are not signed. */
const unsignedHeaders = ["traceparent", "tracestate"];

/** `service` is the signing name, such as `lambda`, `execute-api` or `bedrock-agentcore`. `assumeRole` signs as another role. */
export function createSigV4Authorizer(
  options: CredentialCacheOptions & {
    service: string;
    region: string;
    credentials: AwsCredentialsProvider;
    assumeRole?: AssumedRole | undefined;
  },
): Authorizer {
  const { service, region, credentials, assumeRole, ...cacheOptions } = options;
  const { now = Date.now } = options;
  const role = assumeRole && cacheAssumedRole({ ...assumeRole, ...cacheOptions });
  const provider = role === undefined ? credentials : async () => role.current();
  const sign = createSigner({
    service,
    region,
    credentials: provider,
    unsigned: unsignedHeaders,
    now,
  });
  return {
    async authorize({ method, url, headers, body }) {
      const signedRequest = await sign({ method, url, headers, body });
      return {
        headers: Object.fromEntries(
          Object.entries(signedRequest).filter(([name]) => !(name in headers)),
        ),
      };
    },
    ...(role && {
      refresh: ({ headers }) =>
        role.forget(({ sessionToken }) => sessionToken === headers?.["x-amz-security-token"]),
    }),
  };
}
