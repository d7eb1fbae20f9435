/** AWS Signature Version 4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). */
import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsCredentialsProvider } from "./credentials.ts";

type SignedRequest = {
  method: string;
  url: URL;
  /** By lower-case name; `host` is added. */
  headers: Record<string, string>;
  body: string | Uint8Array;
};

/** Resolves to all headers of the request, `authorization` among them. */
export type Signer = (request: SignedRequest) => Promise<Record<string, string>>;

/** `service` is the signing name, such as `sqs`, `lambda` or `bedrock-agentcore`. Proxies may rewrite `unsigned` headers. */
export function createSigner({
  service,
  region,
  credentials,
  unsigned = [],
  now = Date.now,
}: {
  service: string;
  region: string;
  credentials: AwsCredentialsProvider;
  unsigned?: readonly string[];
  now?: () => number;
}): Signer {
  const signer = new SignatureV4({ service, region, credentials, sha256 });
  const unsignableHeaders = new Set(unsigned);
  return async ({ method, url, headers, body }) => {
    const { protocol, hostname, pathname: path, host } = url;
    const request = { method, protocol, hostname, path, query: queryOf(url), headers: { ...headers, host }, body };
    const signed = await signer.sign(request, { signingDate: new Date(now()), unsignableHeaders });
    return signed.headers;
  };
}

function queryOf({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]));
}

/** Hashes with node:crypto, which keeps the SDK's own implementation out of the bundle. */
export const sha256 = checksum as unknown as ConstructorParameters<typeof SignatureV4>[0]["sha256"];

/** SHA-256, or HMAC if a key is given. A plain function, because the signer calls it with `new`. */
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
