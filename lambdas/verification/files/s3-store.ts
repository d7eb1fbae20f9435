/** Files in a bucket of S3: put there by this role, and read by whoever has the URL, who needs no right of its own. */
import type { AwsSurroundings } from "../../shared/aws/credentials.ts";
import { AwsCallError } from "../../shared/aws/json-call.ts";
import { type FileStore, fileLifeMs } from "./file-store.ts";
import { readCapped } from "./read-capped.ts";
import { createS3Signer } from "./s3-signer.ts";

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
  aws: AwsSurroundings;
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
function bucketUrl({ bucket, endpoint }: { bucket: string; endpoint: URL }): URL {
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
  const answer = await readCapped({ response, maxBytes: maxErrorBytes });
  if (response.status === 200) return;
  const [, name = "NoXmlAnswer"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(Buffer.from(answer ?? []).toString()) ?? [];
  throw new AwsCallError({ name, status: response.status });
}
