/** Lists and deletes files of messages in a stage's bucket. */
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { createEndpointResolver } from "@sekisho/runtime/aws/environment.ts";
import { createSigner } from "@sekisho/runtime/aws/signer.ts";
import { bucketUrl } from "@sekisho/verification/files/s3-store.ts";
import { type AwsCall, callAws } from "./aws-failure.ts";

type FilesBucket = AwsCall & { bucket: string } & Partial<
    Pick<AwsDependencies, "credentials" | "endpointOf">
  >;

/** Both functions reject with an AwsFailure. */
export function openFilesBucket({
  bucket,
  region,
  signal,
  credentials = defaultAwsCredentials(),
  endpointOf = createEndpointResolver({ region }),
}: FilesBucket) {
  const base = bucketUrl({ bucket, endpoint: endpointOf("s3") });
  const sign = createSigner({ service: "s3", region, credentials });

  function send(method: string, url: URL): Promise<string> {
    async function call({ abortSignal }: { abortSignal: AbortSignal }): Promise<string> {
      const { host: _host, ...headers } = await sign({ method, url, headers: {}, body: "" });
      const init = { method, headers, redirect: "manual", signal: abortSignal } as const;
      const response = await fetch(url, init);
      const body = await response.text();
      if (response.ok) return body;
      const [, name = "NoXmlAnswer"] = /<Code>([A-Za-z.]{1,80})<\/Code>/.exec(body) ?? [];
      const $metadata = { httpStatusCode: response.status };
      throw Object.assign(new Error("S3 refused a call."), { name, $metadata });
    }
    return callAws({ doing: `use the bucket of files ${bucket}`, signal, call });
  }

  return {
    async *listKeys(prefix: string): AsyncGenerator<string, void, undefined> {
      let token: string | undefined;
      do {
        const url = new URL(base);
        url.search = `${new URLSearchParams({
          ...{ "list-type": "2", prefix },
          ...(token !== undefined && { "continuation-token": token }),
        })}`;
        const page = await send("GET", url);
        // The zone makes the keys, so that no character in them is escaped.
        for (const [, key = ""] of page.matchAll(/<Key>([A-Za-z0-9_/-]{1,300})<\/Key>/g)) yield key;
        token = /<NextContinuationToken>([^<]{1,2000})<\/NextContinuationToken>/.exec(page)?.[1];
      } while (token !== undefined);
    },
    remove: (key: string) => send("DELETE", new URL(key, base)),
  };
}
