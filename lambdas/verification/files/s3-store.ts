/** Files in a bucket of S3: put there by this role, and read by whoever has the URL, who needs no right of its own. */

import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsCredentials, AwsDependencies } from "../../shared/aws/credentials.ts";
import { AwsCallError } from "../../shared/aws/json-call.ts";
import { sha256 } from "../../shared/aws/signer.ts";
import { readResponseBody } from "../../shared/http/read-body.ts";
import { type FileStore, fileLifeMs } from "./files.ts";

/** A URL dies with the credentials that signed it. A function's own do not say when; they last longer than this. */
const unknownLifeMs = 3600_000;
const maxErrorBytes = 64 * 1024;

/** Rejects with an AwsCallError, or as the connection fails. */
export function createS3FileStore({
  bucket,
  aws: { region, credentials: provider, endpointOf },
  timeoutMs = 30_000,
  now = Date.now,
}: {
  bucket: string;
  aws: AwsDependencies;
  timeoutMs?: number;
  now?: () => number;
}): FileStore {
  const addressOf = (key: string) => new URL(key, bucketUrl({ bucket, endpoint: endpointOf("s3") }));
  return {
    async put({ key, bytes, mimetype, sha256, expiresAtMs, signal }) {
      const credentials = await provider();
      const nowMs = now();
      const signer = createS3Signer({ region, credentials, nowMs });
      const url = addressOf(key);
      const headers = await signer.signPut({
        url,
        sha256,
        headers: {
          "content-type": mimetype,
          "content-disposition": "attachment",
          "x-amz-checksum-sha256": Buffer.from(sha256, "hex").toString("base64"),
        },
      });
      await send({ url, headers, body: bytes, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
      const livesUntilMs = credentials.expiration?.getTime() ?? nowMs + unknownLifeMs;
      const wantedMs = Math.min(expiresAtMs, nowMs + fileLifeMs);
      const expiresInSeconds = Math.max(1, Math.floor((wantedMs - nowMs) / 1000));
      return {
        url: await signer.presignGet({ url, expiresInSeconds }),
        expiresAtMs: Math.min(nowMs + expiresInSeconds * 1000, livesUntilMs),
      };
    },
  };
}

/** AWS wants the bucket in the host's name, emulators know it by the path. */
export function bucketUrl({ bucket, endpoint }: { bucket: string; endpoint: URL }): URL {
  const isAws = /\.amazonaws\.com(\.cn)?$/.test(endpoint.hostname);
  return isAws ? new URL(`${endpoint.protocol}//${bucket}.${endpoint.host}/`) : new URL(`${bucket}/`, endpoint);
}

async function send({
  url,
  headers: { host: _host, ...headers },
  body,
  signal,
}: {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  signal: AbortSignal;
}): Promise<void> {
  const init = { method: "PUT", headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  const response = await fetch(url, { ...init, redirect: "manual", signal });
  const answer = await readResponseBody({ response, maxBytes: maxErrorBytes });
  if (response.status === 200) return;
  const [, name = "NoXmlAnswer"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(answer.toString()) ?? [];
  throw new AwsCallError({ name, status: response.status });
}

/** Signature Version 4 for S3, which signs paths as they are: of a request, and of a URL that works by itself for a time. */
export type S3Signer = {
  /** All headers of the request. `sha256` is of the body, in hexadecimal. */
  signPut(request: { url: URL; headers: Record<string, string>; sha256: string }): Promise<Record<string, string>>;
  /** For a GET by anybody (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html). */
  presignGet(request: { url: URL; expiresInSeconds: number }): Promise<string>;
};

function createS3Signer({
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
