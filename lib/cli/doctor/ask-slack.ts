/** One call of the Web API, with what its headers say beside the answer: the token's scopes, and what time it is at Slack. */
import { readResponseBody } from "../../../lambdas/shared/http/read-body.ts";

/** `error` is Slack's name of it. `skewMs`: how far our clock is ahead of Slack's. */
export type SlackAnswer = {
  error: string | undefined;
  fields: Record<string, unknown>;
  /** Of the token (`x-oauth-scopes`); undefined where Slack does not say. */
  scopes: string[] | undefined;
  skewMs: number | undefined;
};

const timeoutMs = 10_000;
const maxAnswerBytes = 1024 * 1024;

/**
 * The token has only characters that a header takes. Resolves to undefined where Slack is not to be reached, or where what
 * answers there is not Slack.
 */
export async function askSlack({
  method,
  token,
  apiUrl,
  signal,
  now = Date.now,
}: {
  method: string;
  token: string;
  apiUrl: string;
  signal: AbortSignal;
  now?: () => number;
}): Promise<SlackAnswer | undefined> {
  const sentAtMs = now();
  try {
    const response = await fetch(new URL(method, apiUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-www-form-urlencoded" },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const skewMs = readSkewMs({ date: response.headers.get("date"), sentAtMs, receivedAtMs: now() });
    const fields = await fieldsOf(response);
    if (fields === undefined) return undefined;
    const scopes = response.headers
      .get("x-oauth-scopes")
      ?.split(",")
      .map((scope) => scope.trim());
    return { error: errorOf(fields), fields, scopes, skewMs };
  } catch {
    return undefined;
  }
}

async function fieldsOf(response: Response): Promise<Record<string, unknown> | undefined> {
  const bytes = await readResponseBody({ response, maxBytes: maxAnswerBytes });
  if (bytes === "too_large") return undefined;
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return typeof json === "object" && json !== null && "ok" in json ? { ...json } : undefined;
}

function errorOf({ ok, error }: Record<string, unknown>): string | undefined {
  if (ok === true) return undefined;
  return typeof error === "string" && /^[a-z_]{1,64}$/.test(error) ? error : "unknown_error";
}

/**
 * Returns how far this machine's clock is ahead of another one's, by the `Date` header of an HTTP answer (RFC 9110, section
 * 6.6.1). Negative: ours is behind. Undefined where the answer has no date.
 */
export function readSkewMs({
  date,
  sentAtMs,
  receivedAtMs,
}: {
  date: string | null;
  sentAtMs: number;
  receivedAtMs: number;
}): number | undefined {
  const theirsMs = Date.parse(date ?? "");
  if (Number.isNaN(theirsMs)) return undefined;
  // A date is in whole seconds, cut off; and it was written somewhere between sending and receiving.
  return Math.round((sentAtMs + receivedAtMs) / 2 - (theirsMs + 500));
}
