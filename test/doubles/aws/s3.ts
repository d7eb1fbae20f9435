/** S3 with path-style buckets: put, delete, list, and reads by presigned URL. Every request must have a valid signature. */
import { createHash } from "node:crypto";
import { type KnownCredentials, sigv4Problem } from "../sigv4-check.ts";
import type { Received } from "../web-server.ts";
import { presignedProblem } from "./s3-check.ts";

/** `checksum`: the request's own, which was right. */
export type S3Object = {
  bytes: Uint8Array<ArrayBuffer>;
  headers: Record<string, string>;
  checksum: string | null;
};
export type S3Double = {
  /** By `bucket/key`. */
  objects: Map<string, S3Object>;
  /** The problems of refused requests, in order. */
  problems: string[];
  handle(call: Received): Promise<Response>;
};

/** Headers that are stored with the object. */
const keptHeaders = ["content-type", "content-disposition"];

/** `credentialsOf` returns an access key's secret. Permissions are not checked here. */
export function createS3Double({
  buckets,
  region,
  credentialsOf,
  now = Date.now,
}: {
  buckets: readonly string[];
  region: string;
  credentialsOf: (accessKeyId: string) => KnownCredentials | undefined;
  now?: () => number;
}): S3Double {
  const objects: S3Double["objects"] = new Map();
  const problems: string[] = [];

  function refuse(status: number, code: string, problem: string): Response {
    problems.push(problem);
    const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${code}</Message></Error>`;
    return new Response(body, { status, headers: { "content-type": "application/xml" } });
  }

  function problemOf(call: Received): string | undefined {
    const { request, target } = call;
    const query = new URL(target, "http://s3").searchParams;
    const presigned = query.get("X-Amz-Credential");
    const [, fromHeader = ""] =
      /Credential=([^/]+)\//.exec(request.headers.get("authorization") ?? "") ?? [];
    const credentials = credentialsOf(presigned?.split("/")[0] ?? fromHeader);
    if (credentials === undefined) return "unknown access key";
    if (presigned !== null)
      return presignedProblem({ received: call, credentials, region, nowMs: now() });
    return sigv4Problem({ received: call, credentials, service: "s3", region, nowMs: now() });
  }

  return {
    objects,
    problems,
    async handle(call) {
      const { request, target, body } = call;
      const problem = problemOf(call);
      if (problem === "expired") return refuse(403, "AccessDenied", problem);
      if (problem !== undefined) return refuse(403, "SignatureDoesNotMatch", problem);
      const name = decodeURIComponent((target.split("?")[0] ?? "").slice(1));
      if (!buckets.includes(name.split("/")[0] ?? ""))
        return refuse(404, "NoSuchBucket", "no such bucket");
      if (request.method === "PUT") {
        const wrong = wrongChecksum(call);
        if (wrong !== undefined) return refuse(400, wrong, "wrong checksum");
        const headers = keptHeaders.flatMap((header) => {
          const value = request.headers.get(header);
          return value === null ? [] : [[header, value] as const];
        });
        const checksum = request.headers.get("x-amz-checksum-sha256");
        objects.set(name, { bytes: body, headers: Object.fromEntries(headers), checksum });
        return new Response(null, { status: 200 });
      }
      if (request.method === "DELETE") {
        objects.delete(name);
        return new Response(null, { status: 204 });
      }
      const query = new URL(target, "http://s3").searchParams;
      if (query.get("list-type") === "2")
        return listed({ objects, bucket: name.split("/")[0] ?? "", query });
      const found = objects.get(name);
      if (request.method !== "GET") return refuse(405, "MethodNotAllowed", request.method);
      return found === undefined
        ? refuse(404, "NoSuchKey", "no such key")
        : new Response(found.bytes, {
            headers: { ...found.headers, "content-length": `${found.bytes.byteLength}` },
          });
    },
  };
}

const keysPerPage = 2;

/** ListObjectsV2 with small pages. */
function listed({
  objects,
  bucket,
  query,
}: {
  objects: S3Double["objects"];
  bucket: string;
  query: URLSearchParams;
}): Response {
  const after = query.get("continuation-token") ?? "";
  const keys = [...objects.keys()]
    .flatMap((name) => (name.startsWith(`${bucket}/`) ? [name.slice(bucket.length + 1)] : []))
    .filter((key) => key.startsWith(query.get("prefix") ?? "") && key > after)
    .sort();
  const page = keys.slice(0, keysPerPage);
  const contents = page
    .map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`)
    .join("");
  const next =
    keys.length > page.length
      ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>`
      : "";
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult>${contents}${next}</ListBucketResult>`;
  return new Response(body, { headers: { "content-type": "application/xml" } });
}

/** S3's error code if one of both hashes is not the body's. */
function wrongChecksum({ request: { headers }, body }: Received): string | undefined {
  const hash = createHash("sha256").update(body);
  const checksum = headers.get("x-amz-checksum-sha256");
  if (checksum !== null && checksum !== hash.copy().digest("base64")) return "BadDigest";
  return headers.get("x-amz-content-sha256") === hash.digest("hex")
    ? undefined
    : "XAmzContentSHA256Mismatch";
}
