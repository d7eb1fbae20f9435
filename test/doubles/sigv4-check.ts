/** Checks an AWS Signature Version 4 as a service does: by the specification, without any signing library. */
import { createHash, createHmac } from "node:crypto";
import type { Received } from "./web-server.ts";

export type KnownCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
};

/** SDKs leave it unsigned, since a proxy may change it. */
const traceHeader = "x-amzn-trace-id";

/** The problem, or undefined if the signature is valid. */
export function sigv4Problem({
  received: { request, target, body },
  credentials,
  service,
  region,
  nowMs = Date.now(),
}: {
  received: Received;
  credentials: KnownCredentials;
  service: string;
  region: string;
  nowMs?: number;
}): string | undefined {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;
  const parts = pattern.exec(request.headers.get("authorization") ?? "");
  if (parts === null) return "no signature";
  const [
    ,
    accessKeyId = "",
    day = "",
    scopeRegion = "",
    scopeService = "",
    signedHeaders = "",
    signature = "",
  ] = parts;
  const at = request.headers.get("x-amz-date") ?? "";
  if (accessKeyId !== credentials.accessKeyId) return "unknown access key";
  if (scopeRegion !== region || scopeService !== service || !at.startsWith(day))
    return "wrong scope";
  if (Math.abs(msOf(at) - nowMs) > 300_000) return "stale";
  if ((request.headers.get("x-amz-security-token") ?? undefined) !== credentials.sessionToken)
    return "wrong session token";
  const names = signedHeaders.split(";");
  const mustBeSigned = [...request.headers.keys()].filter(
    (name) => name.startsWith("x-amz") && name !== traceHeader,
  );
  mustBeSigned.push("host");
  const unsigned = mustBeSigned.filter((name) => !names.includes(name));
  if (unsigned.length > 0) return `unsigned: ${unsigned.join(", ")}`;

  const [path = "", query = ""] = target.split("?");
  const canonicalRequest = [
    request.method,
    path.split("/").map(encode).join("/"),
    query.split("&").filter(Boolean).sort().join("&"),
    ...names.map(
      (name) => `${name}:${(request.headers.get(name) ?? "").trim().replace(/ +/g, " ")}`,
    ),
    "",
    signedHeaders,
    sha256(body),
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  return signature === sign({ credentials, at, scope, canonicalRequest })
    ? undefined
    : "wrong signature";
}

/** The signature of a canonical request. `scope` is the day, the region, the service and a constant. */
export function sign({
  credentials,
  at,
  scope,
  canonicalRequest,
}: {
  credentials: KnownCredentials;
  at: string;
  scope: string;
  canonicalRequest: string;
}): string {
  const key = scope
    .split("/")
    .reduce<string | Buffer>(
      (secret, part) => createHmac("sha256", secret).update(part).digest(),
      `AWS4${credentials.secretAccessKey}`,
    );
  const stringToSign = ["AWS4-HMAC-SHA256", at, scope, sha256(canonicalRequest)].join("\n");
  return createHmac("sha256", key).update(stringToSign).digest("hex");
}

/** Every service but S3 encodes each path segment once more than on the wire. */
export function encode(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

export function msOf(amzDate: string): number {
  return Date.parse(
    amzDate.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
}
