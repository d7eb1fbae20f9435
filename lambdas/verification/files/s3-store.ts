/** Stores files in an S3 bucket. The worker's role writes them. A presigned URL lets the Execution zone read one without permissions. */

import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsCredentials, AwsDependencies } from "../../shared/aws/credentials.ts";
import { AwsCallError } from "../../shared/aws/json-call.ts";
import { sha256 } from "../../shared/aws/signer.ts";
import { readResponseBody } from "../../shared/http/read-body.ts";
import { type FileStore, fileLifeMs } from "./files.ts";

/** A presigned URL expires with its credentials. A Lambda function's credentials do not say when, but they last longer than this. */
const unknownLifeMs = 3600_000;
const maxErrorBytes = 64 * 1024;

/** Rejects with an AwsCallError or a network error. */
export function createS3FileStore(options: {
  bucket: string;
  aws: AwsDependencies;
  timeoutMs?: number;
  now?: () => number;
}): FileStore {
  const { bucket, timeoutMs = 30_000, now = Date.now } = options;
  const { region, credentials: provider, endpointOf } = options.aws;
  return {
    async put({ key, bytes, mimetype, sha256, expiresAtMs, signal }) {
      const credentials = await provider();
      const nowMs = now();
      const signer = createS3Signer({ region, credentials, nowMs });
      const url = new URL(key, bucketUrl({ bucket, endpoint: endpointOf("s3") }));
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

/** AWS expects the bucket in the host name, emulators expect it in the path. */
export function bucketUrl({ bucket, endpoint }: { bucket: string; endpoint: URL }): URL {
  const isAws = /\.amazonaws\.com(\.cn)?$/.test(endpoint.hostname);
  return isAws ? new URL(`${endpoint.protocol}//${bucket}.${endpoint.host}/`) : new URL(`${bucket}/`, endpoint);
}

async function send(request: {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  signal: AbortSignal;
}): Promise<void> {
  const { url, body, signal } = request;
  const { host: _host, ...headers } = request.headers;
  const init = { method: "PUT", headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  const response = await fetch(url, { ...init, redirect: "manual", signal });
  const answer = await readResponseBody({ response, maxBytes: maxErrorBytes });
  if (response.status === 200) return;
  const [, name = "NoXmlAnswer"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(answer.toString()) ?? [];
  throw new AwsCallError({ name, status: response.status });
}

type PutRequest = { url: URL; headers: Record<string, string>; sha256: string };

/** Signs requests and presigns URLs with Signature Version 4. Unlike other services, S3 wants paths without double encoding. */
function createS3Signer(options: { region: string; credentials: AwsCredentials; nowMs: number }) {
  const { region, credentials, nowMs } = options;
  const signer = new SignatureV4({ service: "s3", region, credentials, sha256, uriEscapePath: false });
  const signingDate = new Date(nowMs);
  return {
    /** Returns all headers of the request. `sha256` is the hash of the body, in hexadecimal. */
    async signPut({ url, headers, sha256: hash }: PutRequest): Promise<Record<string, string>> {
      const request = { ...requestTo(url), method: "PUT" };
      const signed = await signer.sign(
        { ...request, headers: { ...headers, host: url.host, "x-amz-content-sha256": hash } },
        { signingDate },
      );
      return signed.headers;
    },
    /** See https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html. */
    async presignGet({ url, expiresInSeconds }: { url: URL; expiresInSeconds: number }): Promise<string> {
      // S3 expects this constant in a presigned URL, not the hash of an empty body.
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
