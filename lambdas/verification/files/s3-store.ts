/** Stores files in an S3 bucket. The worker's role writes them. A presigned URL lets the Execution zone read one without permissions. */

import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { createSigner, presignS3Get } from "@sekisho/runtime/aws/signer.ts";
import { readResponseBody } from "@sekisho/runtime/http/read-body.ts";
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
      const url = new URL(key, bucketUrl({ bucket, endpoint: endpointOf("s3") }));
      const sign = createSigner({ service: "s3", region, credentials: async () => credentials });
      const headers = await sign({
        method: "PUT",
        url,
        body: bytes,
        atMs: nowMs,
        headers: {
          "x-amz-content-sha256": sha256,
          "content-type": mimetype,
          "content-disposition": "attachment",
          "x-amz-checksum-sha256": Buffer.from(sha256, "hex").toString("base64"),
        },
      });
      await send({
        url,
        headers,
        body: bytes,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const livesUntilMs = credentials.expiration?.getTime() ?? nowMs + unknownLifeMs;
      const wantedMs = Math.min(expiresAtMs, nowMs + fileLifeMs);
      const expiresInSeconds = Math.max(1, Math.floor((wantedMs - nowMs) / 1000));
      return {
        url: presignS3Get({ url, region, credentials, expiresInSeconds, atMs: nowMs }),
        expiresAtMs: Math.min(nowMs + expiresInSeconds * 1000, livesUntilMs),
      };
    },
  };
}

/** AWS expects the bucket in the host name, emulators expect it in the path. */
export function bucketUrl({ bucket, endpoint }: { bucket: string; endpoint: URL }): URL {
  const isAws = /\.amazonaws\.com(\.cn)?$/.test(endpoint.hostname);
  return isAws
    ? new URL(`${endpoint.protocol}//${bucket}.${endpoint.host}/`)
    : new URL(`${bucket}/`, endpoint);
}

async function send(request: {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  signal: AbortSignal;
}): Promise<void> {
  const { url, body, signal } = request;
  const { host: _host, ...headers } = request.headers;
  const init = {
    method: "PUT",
    headers,
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  };
  const response = await fetch(url, { ...init, redirect: "manual", signal });
  const answer = await readResponseBody({ response, maxBytes: maxErrorBytes });
  if (response.status === 200) return;
  const [, name = "NoXmlAnswer"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(answer.toString()) ?? [];
  throw new AwsCallError({ name, status: response.status });
}
