/** Signature Version 4 for S3, which signs paths as they are: of a request, and of a URL that works by itself for a time. */
import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsCredentials } from "../../shared/aws/credentials.ts";
import { sha256 } from "../../shared/aws/signer.ts";

export type S3Signer = {
  /** All headers of the request. `sha256` is of the body, in hexadecimal. */
  signPut(request: { url: URL; headers: Record<string, string>; sha256: string }): Promise<Record<string, string>>;
  /** For a GET by anybody (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html). */
  presignGet(request: { url: URL; expiresInSeconds: number }): Promise<string>;
};

export function createS3Signer({
  region,
  credentials,
  nowMs,
}: {
  region: string;
  credentials: AwsCredentials;
  nowMs: number;
}): S3Signer {
  const signer = new SignatureV4({ service: "s3", region, credentials, sha256, uriEscapePath: false });
  const signingDate = new Date(nowMs);
  return {
    async signPut({ url, headers, sha256: hash }) {
      const request = { ...requestTo(url), method: "PUT" };
      const signed = await signer.sign(
        { ...request, headers: { ...headers, host: url.host, "x-amz-content-sha256": hash } },
        { signingDate },
      );
      return signed.headers;
    },
    async presignGet({ url, expiresInSeconds }) {
      // As S3 has it for such URLs: what the hash of no body would be is not what it expects.
      const headers = { host: url.host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
      const request = { ...requestTo(url), method: "GET", headers };
      const { query = {} } = await signer.presign(request, { expiresIn: expiresInSeconds, signingDate });
      const pairs = Object.entries(query).flatMap(([name, value]) =>
        [value].flat().flatMap((one): [string, string][] => (one === null ? [] : [[name, one]])),
      );
      return `${url.href}?${new URLSearchParams(pairs).toString()}`;
    },
  };
}

function requestTo({ protocol, hostname, pathname: path }: URL) {
  return { protocol, hostname, path, query: {} };
}
