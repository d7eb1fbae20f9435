/** Slack's request signature, version v0 (https://docs.slack.dev/authentication/verifying-requests-from-slack), over the raw bytes. */
import { createHmac, timingSafeEqual } from "node:crypto";

/** How far Slack's clock and ours may differ, in both directions. */
const toleranceSeconds = 300;

/**
 * `unsigned`: a header is absent, empty, repeated or not of Slack's form. `stale`: signed too long ago, or in the future.
 * `mismatch`: the only verdict that another secret could change. Everything but `valid` refuses.
 */
export type Verdict = "valid" | "no_secret" | "unsigned" | "stale" | "mismatch";

/** `timestamp` and `signature` are the values of `X-Slack-Request-Timestamp` and `X-Slack-Signature`. */
export function verifySignature({
  secret,
  timestamp,
  signature,
  body,
  nowSeconds,
}: {
  secret: string;
  timestamp: string | undefined;
  signature: string | undefined;
  body: Uint8Array;
  nowSeconds: number;
}): Verdict {
  if (secret === "") return "no_secret";
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return "unsigned";
  if (signature === undefined || !/^v0=[0-9a-f]{64}$/.test(signature)) return "unsigned";
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) return "stale";
  const expected = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(signature.slice(3), "hex")) ? "valid" : "mismatch";
}
