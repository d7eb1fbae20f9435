/** Checks a presigned URL as S3 does: by the specification, without any signing library. */
import { encode, type KnownCredentials, msOf, sign } from "../sigv4-check.ts";
import type { Received } from "../web-server.ts";

const maxExpiresSeconds = 7 * 24 * 3600;

/**
 * The problem, or undefined if the signature is valid and the URL has not expired
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
  const parameters = new URLSearchParams(query);
  const of = (name: string) => parameters.get(name) ?? "";
  const at = of("X-Amz-Date");
  const day = at.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const expiresSeconds = Number(of("X-Amz-Expires"));
  if (of("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256") return "no signature";
  if (of("X-Amz-Credential") !== `${credentials.accessKeyId}/${scope}`) return "wrong scope";
  if ((parameters.get("X-Amz-Security-Token") ?? undefined) !== credentials.sessionToken)
    return "wrong session token";
  if (!(expiresSeconds >= 1 && expiresSeconds <= maxExpiresSeconds)) return "no time";
  if (!(nowMs < msOf(at) + expiresSeconds * 1000)) return "expired";

  const pairs = [...parameters].filter(([name]) => name !== "X-Amz-Signature");
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
  const expectedResult = sign({ credentials, at, scope, canonicalRequest });
  return of("X-Amz-Signature") === expectedResult ? undefined : "wrong signature";
}
