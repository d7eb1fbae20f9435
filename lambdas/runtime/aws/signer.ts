/**
 * AWS Signature Version 4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), by node:crypto
 * alone. The SDK's own signer is the size of a quarter of the ingress, which must load before its first answer.
 */
import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";
import type { AwsCredentials, AwsCredentialsProvider } from "./credentials.ts";

type SignedRequest = {
  method: string;
  url: URL;
  /** By lower-case name; `host` is added. */
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** The time of the signature. Default: now. */
  atMs?: number | undefined;
};

/** Resolves to all headers of the request, `authorization` among them. */
export type Signer = (request: SignedRequest) => Promise<Record<string, string>>;

type Scope = { service: string; region: string };

/** `service` is the signing name, such as `sqs`, `lambda` or `bedrock-agentcore`. Proxies may rewrite `unsigned` headers. */
export function createSigner(
  options: Scope & {
    credentials: AwsCredentialsProvider;
    unsigned?: readonly string[];
    now?: () => number;
  },
): Signer {
  const { service, region, credentials, unsigned = [], now = Date.now } = options;
  const keyOf = createSigningKeys({ service, region });
  const leftOut = new Set([...neverSigned, ...unsigned]);
  return async ({ method, url, headers: requestHeaders, body, atMs = now() }) => {
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
    const date = formatAmzDate(atMs);
    const payloadHash = requestHeaders["x-amz-content-sha256"] ?? hash("sha256", body, "hex");
    const headers: Record<string, string> = {
      ...requestHeaders,
      host: url.host,
      "x-amz-date": date,
      "x-amz-content-sha256": payloadHash,
    };
    if (sessionToken !== undefined) headers["x-amz-security-token"] = sessionToken;
    const names = Object.keys(headers).filter(
      (name) => !leftOut.has(name) && !/^(?:proxy|sec)-/.test(name),
    );
    const { scope, key } = keyOf({ secretAccessKey, date });
    const request = {
      method,
      path: canonicalPath({ url, service }),
      query: canonicalQuery(url.searchParams),
      headers,
    };
    const { signedHeaders, signature } = createSignature({
      ...request,
      names,
      payloadHash,
      date,
      scope,
      key,
    });
    headers.authorization = `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`;
    return headers;
  };
}

/**
 * Returns a URL by which anyone may GET an object of S3 for `expiresInSeconds`
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html).
 */
export function presignS3Get(request: {
  url: URL;
  region: string;
  credentials: AwsCredentials;
  expiresInSeconds: number;
  atMs: number;
}): string {
  const { url, region, credentials, expiresInSeconds, atMs } = request;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const service = "s3";
  const date = formatAmzDate(atMs);
  const { scope, key } = createSigningKeys({ service, region })({ secretAccessKey, date });
  const signedUrl = new URL(url);
  // S3 expects this constant in a presigned URL, not the hash of an empty body.
  const payloadHash = "UNSIGNED-PAYLOAD";
  const parameters = {
    "x-amz-content-sha256": payloadHash,
    ...(sessionToken !== undefined && { "X-Amz-Security-Token": sessionToken }),
    "X-Amz-Algorithm": algorithm,
    "X-Amz-Credential": `${accessKeyId}/${scope}`,
    "X-Amz-Date": date,
    "X-Amz-Expires": String(expiresInSeconds),
    "X-Amz-SignedHeaders": "host",
  };
  for (const [name, value] of Object.entries(parameters)) signedUrl.searchParams.set(name, value);
  const { signature } = createSignature({
    method: "GET",
    path: canonicalPath({ url, service }),
    query: canonicalQuery(signedUrl.searchParams),
    headers: { host: url.host },
    names: ["host"],
    payloadHash,
    date,
    scope,
    key,
  });
  signedUrl.searchParams.set("X-Amz-Signature", signature);
  return signedUrl.href;
}

const algorithm = "AWS4-HMAC-SHA256";

/** Headers that a proxy may change or that belong to one connection. The SDK leaves out the same ones. */
const neverSigned = [
  ...[
    "authorization",
    "cache-control",
    "connection",
    "expect",
    "from",
    "keep-alive",
    "max-forwards",
    "pragma",
  ],
  ...["referer", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id"],
];

function createSignature(request: {
  method: string;
  path: string;
  query: string;
  headers: Readonly<Record<string, string>>;
  /** The headers to sign. */
  names: string[];
  payloadHash: string;
  date: string;
  scope: string;
  key: KeyObject;
}): { signedHeaders: string; signature: string } {
  const { method, path, query, headers, payloadHash, date, scope, key } = request;
  const names = request.names.sort();
  const signedHeaders = names.join(";");
  const lines = names.map((name) => `${name}:${canonicalValue(headers[name] ?? "")}\n`).join("");
  const canonical = `${method}\n${path}\n${query}\n${lines}\n${signedHeaders}\n${payloadHash}`;
  const text = `${algorithm}\n${date}\n${scope}\n${hash("sha256", canonical, "hex")}`;
  return { signedHeaders, signature: createHmac("sha256", key).update(text).digest("hex") };
}

/** The key of a day is derived once. With a key of bytes, an HMAC takes Node 20 times as long as with a KeyObject. */
function createSigningKeys({ service, region }: Scope) {
  let last: { day: string; secretAccessKey: string; scope: string; key: KeyObject } | undefined;
  return ({
    secretAccessKey,
    date,
  }: {
    secretAccessKey: string;
    date: string;
  }): { scope: string; key: KeyObject } => {
    const day = date.slice(0, 8);
    if (last?.day !== day || last.secretAccessKey !== secretAccessKey) {
      const scope = `${day}/${region}/${service}/aws4_request`;
      const derive = (key: KeyObject, part: string) =>
        createSecretKey(createHmac("sha256", key).update(part).digest());
      const key = scope
        .split("/")
        .reduce(derive, createSecretKey(Buffer.from(`AWS4${secretAccessKey}`)));
      last = { day, secretAccessKey, scope, key };
    }
    return last;
  };
}

/** Such as 20150830T123600Z. */
function formatAmzDate(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, "");
}

function canonicalValue(text: string): string {
  return text.replace(/[ \t\r\n]+/g, " ").replace(/^ | $/g, "");
}

/** Every service but S3 wants the path without dots, and encoded once more than on the wire. */
function canonicalPath({ url: { pathname }, service }: { url: URL; service: string }): string {
  if (pathname === "/" || service === "s3") return pathname;
  const path = `/${pathname.split("/").filter(Boolean).join("/")}${pathname.endsWith("/") ? "/" : ""}`;
  return path.split("/").map(escapeUri).join("/");
}

function canonicalQuery(parameters: URLSearchParams): string {
  if (parameters.size === 0) return "";
  const pairs = [...parameters].map(([name, value]) => ({
    name: escapeUri(name),
    value: escapeUri(value),
  }));
  const order = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  const sortedPairs = pairs.sort(
    (one, other) => order(one.name, other.name) || order(one.value, other.value),
  );
  return sortedPairs.map(({ name, value }) => `${name}=${value}`).join("&");
}

/** Encodes everything but the unreserved characters of RFC 3986, section 2.3. */
export function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
