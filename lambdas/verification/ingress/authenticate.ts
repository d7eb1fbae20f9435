/** Checks the signature of a request from Slack. After a mismatch it reads the signing secret again once, which may have been rotated. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { CachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { BodyRefusal } from "@sekisho/runtime/http/read-body.ts";
import type { Log } from "@sekisho/runtime/log.ts";

export type ReadBody = () => Promise<Uint8Array | BodyRefusal>;

export type AuthenticationResult =
  | { body: Uint8Array }
  | { refused: Exclude<SignatureResult, "valid"> | BodyRefusal; bytes?: number };

/** Checks the headers before it reads the body, so that a refused request takes no memory. */
export async function authenticate({
  signingSecret,
  headers,
  readBody,
  nowSeconds,
  log,
}: {
  signingSecret: CachedSecret;
  headers: HeaderPairs;
  readBody: ReadBody;
  nowSeconds: number;
  log: Log;
}): Promise<AuthenticationResult> {
  const signatureHeaders = {
    timestamp: readSingleHeader(headers, "x-slack-request-timestamp"),
    signature: readSingleHeader(headers, "x-slack-signature"),
    nowSeconds,
  };
  const logUnreadable = (error: unknown): undefined => {
    log.error("signing_secret_unreadable", { cause_kind: errorKind(error) });
  };
  const secret = (await signingSecret.current().catch(logUnreadable)) ?? "";
  if (secret === "") return { refused: "no_secret" };
  const refusal = checkHeaders(signatureHeaders);
  if (refusal !== undefined) return { refused: refusal };
  const body = await readBody();
  if (typeof body === "string") return { refused: body };
  const result = verifySignature({ secret, body, ...signatureHeaders });
  if (result !== "mismatch") return toAuthenticationResult(result, body);
  const newer = await signingSecret.readNewer(secret).catch(logUnreadable);
  return toAuthenticationResult(
    newer === undefined ? result : verifySignature({ secret: newer, body, ...signatureHeaders }),
    body,
  );
}

function toAuthenticationResult(result: SignatureResult, body: Uint8Array): AuthenticationResult {
  return result === "valid" ? { body } : { refused: result, bytes: body.byteLength };
}

/** The accepted difference between Slack's clock and ours, in both directions. */
const toleranceSeconds = 300;

/**
 * `unsigned` means that a header is absent, empty, repeated or malformed, and `stale` that the timestamp is too old or in the future. Only
 * `mismatch` could change with another secret. Every result except `valid` refuses the request.
 */
export type SignatureResult = "valid" | "no_secret" | "unsigned" | "stale" | "mismatch";

type SignedHeaders = { timestamp: string | undefined; signature: string | undefined };

/** Returns undefined if the headers are acceptable and the signature can be verified. */
function checkHeaders({
  timestamp,
  signature,
  nowSeconds,
}: SignedHeaders & { nowSeconds: number }): "unsigned" | "stale" | undefined {
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return "unsigned";
  if (signature === undefined || !/^v0=[0-9a-f]{64}$/.test(signature)) return "unsigned";
  return Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds ? "stale" : undefined;
}

/**
 * Verifies Slack's request signature, version v0 (https://docs.slack.dev/authentication/verifying-requests-from-slack), over the raw
 * bytes. `timestamp` and `signature` are the values of `X-Slack-Request-Timestamp` and `X-Slack-Signature`.
 */
export function verifySignature({
  secret,
  timestamp,
  signature,
  body,
  nowSeconds,
}: {
  secret: string;
  body: Uint8Array;
  nowSeconds: number;
} & SignedHeaders): SignatureResult {
  if (secret === "") return "no_secret";
  const refusal = checkHeaders({ timestamp, signature, nowSeconds });
  if (refusal !== undefined || signature === undefined) return refusal ?? "unsigned";
  const expectedSignature = createHmac("sha256", secret)
    .update(`v0:${timestamp}:`)
    .update(body)
    .digest();
  return timingSafeEqual(expectedSignature, Buffer.from(signature.slice(3), "hex"))
    ? "valid"
    : "mismatch";
}

/** HTTP headers as a list of pairs, so that a repeated header stays visible. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Returns the value of a header, in any letter case, or undefined if it is absent or repeated. */
function readSingleHeader(headers: HeaderPairs, name: string): string | undefined {
  const values = headers.filter(([headerName]) => headerName.toLowerCase() === name);
  return values.length === 1 ? values[0]?.[1] : undefined;
}
