/** Whether a request comes from Slack; where the signature does not match, once more with a secret read anew. */
import type { Log } from "../../shared/log.ts";
import type { KeptSecret } from "../kept-secret.ts";
import { type HeaderPairs, soleHeader } from "./headers.ts";
import { type Verdict, verifySignature } from "./signature.ts";

export async function authenticate({
  signingSecret,
  headers,
  body,
  nowSeconds,
  log,
}: {
  signingSecret: KeptSecret;
  headers: HeaderPairs;
  body: Uint8Array;
  nowSeconds: number;
  log: Log;
}): Promise<Verdict> {
  const signed = {
    timestamp: soleHeader(headers, "x-slack-request-timestamp"),
    signature: soleHeader(headers, "x-slack-signature"),
    body,
    nowSeconds,
  };
  const unreadable = (error: unknown): undefined => {
    log.error("signing_secret_unreadable", { cause_kind: error instanceof Error ? error.name : typeof error });
  };
  const secret = (await signingSecret.current().catch(unreadable)) ?? "";
  const verdict = verifySignature({ secret, ...signed });
  if (verdict !== "mismatch") return verdict;
  const newer = await signingSecret.newerThan(secret).catch(unreadable);
  return newer === undefined ? verdict : verifySignature({ secret: newer, ...signed });
}
