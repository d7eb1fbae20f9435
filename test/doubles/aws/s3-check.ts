/** Checks a presigned URL of S3 as S3 does, from the specification and independently of any signing library. */
import { createHash, createHmac } from "node:crypto";
import type { KnownCredentials } from "../sigv4-check.ts";
import type { Received } from "../web-server.ts";

const maxExpiresSeconds = 7 * 24 * 3600;

/**
 * The problem found, or undefined for a URL that is signed right and not expired
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html).
 */
export function presignedProblem({
  received: { request, target },
  credentials,
  region,
  nowMs,
}: {
  received: Pick<Received, "request" | "target">;
  credentials: KnownCredentials;
  region: string;
  nowMs: number;
}): string | undefined {
  const [path = "", query = ""] = target.split("?");
  const given = new URLSearchParams(query);
  const of = (name: string) => given.get(name) ?? "";
  const at = of("X-Amz-Date");
  const day = at.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const expiresSeconds = Number(of("X-Amz-Expires"));
  if (of("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256") return "no signature";
  if (of("X-Amz-Credential") !== `${credentials.accessKeyId}/${scope}`) return "wrong scope";
  if ((given.get("X-Amz-Security-Token") ?? undefined) !== credentials.sessionToken) return "wrong session token";
  if (!(expiresSeconds >= 1 && expiresSeconds <= maxExpiresSeconds)) return "no time";
  const sinceMs = Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!(nowMs < sinceMs + expiresSeconds * 1000)) return "expired";

  const pairs = [...given].filter(([name]) => name !== "X-Amz-Signature");
  const signedHeaders = of("X-Amz-SignedHeaders").split(";");
  if (!signedHeaders.includes("host")) return "unsigned host";
  const canonicalRequest = [
    request.method,
    path,
    pairs
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .sort()
      .join("&"),
    ...signedHeaders.map((name) => `${name}:${(request.headers.get(name) ?? "").trim()}`),
    "",
    signedHeaders.join(";"),
    "UNSIGNED-PAYLOAD",
  ].join("\n");
  const hash = createHash("sha256").update(canonicalRequest).digest("hex");
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  );
  const expected = createHmac("sha256", key).update(["AWS4-HMAC-SHA256", at, scope, hash].join("\n")).digest("hex");
  return of("X-Amz-Signature") === expected ? undefined : "wrong signature";
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
