/** The files of messages, those of each task below its request id: in the local run's folder, or in a stage's bucket. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { AwsDependencies } from "../../../lambdas/shared/aws/credentials.ts";
import { createSigner } from "../../../lambdas/shared/aws/signer.ts";
import { bucketUrl } from "../../../lambdas/verification/files/s3-store.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import type { DataPart } from "./person.ts";

export function createLocalFiles({ folder }: { folder: string }): DataPart {
  return async ({ ids, erase }) => {
    let sum = 0;
    for (const id of ids) {
      const names = await readdir(join(folder, id)).catch((thrown: NodeJS.ErrnoException) => {
        if (thrown.code === "ENOENT") return [];
        throw thrown;
      });
      sum += names.length;
      if (erase) await rm(join(folder, id), { recursive: true, force: true });
    }
    return sum;
  };
}

const timeoutMs = 20_000;
/** Far more pages than a task has files. */
const maxPages = 20;

type Bucket = { bucket: string; aws: AwsDependencies; signal: AbortSignal };

export function createBucketFiles({
  bucket,
  aws: { region, credentials, endpointOf },
  signal,
}: Bucket): DataPart {
  const base = bucketUrl({ bucket, endpoint: endpointOf("s3") });
  const sign = createSigner({ service: "s3", region, credentials });

  async function send(method: string, url: URL): Promise<string> {
    const { host: _host, ...headers } = await sign({ method, url, headers: {}, body: "" });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method, headers, redirect: "manual", signal: limit }).catch(
      (cause) => {
        const text =
          "Could not reach the bucket of files. Check the network and, if it is set, AWS_ENDPOINT_URL.";
        throw new AwsFailure(text, { unreachable: true, cause });
      },
    );
    const body = await response.text();
    if (response.ok) return body;
    const [, name = "no answer of S3"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(body) ?? [];
    throw new AwsFailure(
      `Could not use the bucket of files ${bucket} (${name}, ${response.status}). Use a role with s3:ListBucket and s3:DeleteObject on it, by AWS_PROFILE.`,
    );
  }

  /** By ListObjectsV2. The zone makes the keys, so that no character in them is escaped. */
  async function* listKeys(id: string): AsyncGenerator<string> {
    let token: string | undefined;
    for (let page = 0; page < maxPages && (page === 0 || token !== undefined); page++) {
      const url = new URL(base);
      const query = {
        "list-type": "2",
        prefix: `${id}/`,
        ...(token !== undefined && { "continuation-token": token }),
      };
      url.search = new URLSearchParams(query).toString();
      const body = await send("GET", url);
      yield* [...body.matchAll(/<Key>([A-Za-z0-9_/-]{1,300})<\/Key>/g)].flatMap(
        ([, key]) => key ?? [],
      );
      [, token] = /<NextContinuationToken>([^<]{1,2000})<\/NextContinuationToken>/.exec(body) ?? [];
    }
  }

  return async ({ ids, erase }) => {
    let sum = 0;
    for (const id of ids) {
      for await (const key of listKeys(id)) {
        if (erase) await send("DELETE", new URL(key, base));
        sum += 1;
      }
    }
    return sum;
  };
}
