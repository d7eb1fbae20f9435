/** AWS Signature Version 4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). */
import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import { type AwsCredentialsProvider, defaultAwsCredentials } from "../aws-credentials.ts";
import type { Authorizer } from "./authorizer.ts";

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
  const signer = new SignatureV4({ service, region, credentials, sha256: checksum as unknown as ChecksumConstructor });
  return {
    async authorize({ method, url, headers, body }) {
      const signed = await signer.sign(
        {
          method,
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query: queryOf(url),
          headers: { ...headers, host: url.host },
          body,
        },
        { signingDate: new Date(now()), unsignableHeaders },
      );
      return Object.fromEntries(Object.entries(signed.headers).filter(([name]) => !(name in headers)));
    },
  };
}

/** Proxies on the way may rewrite these (W3C Trace Context, section 3.4), which must not break the signature. */
const unsignableHeaders = new Set(["traceparent", "tracestate"]);

function queryOf({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]));
}

type ChecksumConstructor = ConstructorParameters<typeof SignatureV4>[0]["sha256"];

/** SHA-256, or HMAC where a key is given. A function that is called with `new`, because that is what the signer does. */
function checksum(key?: string | ArrayBuffer | ArrayBufferView) {
  const hash = key === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(key));
  return {
    update: (data: Uint8Array) => void hash.update(data),
    digest: async () => hash.digest(),
    reset() {},
  };
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return Buffer.from(data);
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
