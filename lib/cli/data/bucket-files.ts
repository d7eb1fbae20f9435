/** The files of messages in a stage's bucket, each task's below its request id. */
import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsDependencies } from "../../../lambdas/shared/aws/credentials.ts";
import { sha256 } from "../../../lambdas/shared/aws/signer.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import type { DataPart } from "./person.ts";

const timeoutMs = 20_000;
/** Far more pages than a task has files. */
const maxPages = 20;
const emptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export function createBucketFiles({
  bucket,
  aws: { region, credentials, endpointOf },
  signal,
  now = Date.now,
}: {
  bucket: string;
  aws: AwsDependencies;
  signal: AbortSignal;
  now?: () => number;
}): DataPart {
  const endpoint = endpointOf("s3");
  // AWS wants the bucket in the host's name, emulators know it by the path.
  const isAws = /\.amazonaws\.com(\.cn)?$/.test(endpoint.hostname);
  const base = isAws ? new URL(`${endpoint.protocol}//${bucket}.${endpoint.host}/`) : new URL(`${bucket}/`, endpoint);

  async function send({ method, key, query }: { method: string; key: string; query: Record<string, string> }) {
    const url = new URL(key, base);
    const signer = new SignatureV4({
      service: "s3",
      region,
      credentials: await credentials(),
      sha256,
      uriEscapePath: false,
    });
    const { protocol, hostname, pathname: path, host } = url;
    const headers = { host, "x-amz-content-sha256": emptySha256 };
    const signed = await signer.sign(
      { method, protocol, hostname, path, query, headers },
      { signingDate: new Date(now()) },
    );
    const { host: _host, ...sent } = signed.headers;
    // As the signature has it: encodeURIComponent leaves some characters that are to be escaped there.
    url.search = Object.entries(query)
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .join("&");
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method, headers: sent, redirect: "manual", signal: limit }).catch((cause) => {
      throw new AwsFailure(
        "Could not reach the bucket of files. Check the network and, if it is set, AWS_ENDPOINT_URL.",
        {
          unreachable: true,
          cause,
        },
      );
    });
    const body = await response.text();
    if (response.ok) return body;
    const [, name = "no answer of S3"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(body) ?? [];
    throw new AwsFailure(
      `Could not use the bucket of files ${bucket} (${name}, ${response.status}). Use a role with s3:ListBucket and s3:DeleteObject on it, by AWS_PROFILE.`,
    );
  }

  /** ListObjectsV2; keys are of our own making, so that none of them is escaped. */
  async function keysOf(id: string): Promise<string[]> {
    const keys: string[] = [];
    let token: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const next: Record<string, string> = token === undefined ? {} : { "continuation-token": token };
      const body = await send({ method: "GET", key: "", query: { "list-type": "2", prefix: `${id}/`, ...next } });
      keys.push(...[...body.matchAll(/<Key>([A-Za-z0-9_/-]{1,300})<\/Key>/g)].flatMap(([, key]) => key ?? []));
      [, token] = /<NextContinuationToken>([^<]{1,2000})<\/NextContinuationToken>/.exec(body) ?? [];
      if (token === undefined) return keys;
    }
    return keys;
  }

  async function each(ids: ReadonlySet<string>, work: (key: string) => Promise<unknown>): Promise<number> {
    let sum = 0;
    for (const id of ids) {
      for (const key of await keysOf(id)) {
        await work(key);
        sum += 1;
      }
    }
    return sum;
  }

  return {
    what: "files of messages",
    count: ({ ids }) => each(ids, async () => {}),
    erase: ({ ids }) => each(ids, (key) => send({ method: "DELETE", key, query: {} })),
  };
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
