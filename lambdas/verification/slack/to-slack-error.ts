/** What `@slack/web-api` throws, as the one error that the rest of the product knows. */
import * as z from "zod";
import { SlackError } from "./slack.ts";
import { kindOfSlackError } from "./slack-errors.ts";

/** The package's own marks on its errors; read as data, so that nothing here loads the package. */
const platformError = z.object({
  code: z.literal("slack_webapi_platform_error"),
  data: z.object({ error: z.string() }),
});
const rateLimitedError = z.object({ code: z.literal("slack_webapi_rate_limited_error"), retryAfter: z.number() });
const httpError = z.object({ code: z.literal("slack_webapi_http_error"), statusCode: z.number() });

/** The connection was never made, so nothing was sent. */
const notConnected = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/** Everything that is not certainly a refusal, and not certainly unsent, is `ambiguous`. Slack's answers are not kept as cause. */
export function toSlackError(thrown: unknown): SlackError {
  if (thrown instanceof SlackError) return thrown;
  const platform = platformError.safeParse(thrown).data;
  if (platform !== undefined) return named(platform.data.error);
  const limited = rateLimitedError.safeParse(thrown).data;
  if (limited !== undefined) return new SlackError("rate_limited", { retryAfterMs: limited.retryAfter * 1000 });
  const http = httpError.safeParse(thrown).data;
  // Slack itself answers 200 or 429: below 500 it was something in between that turned the request away.
  if (http !== undefined) return new SlackError(http.statusCode < 500 ? "unavailable" : "ambiguous");
  return new SlackError(wasNotConnected(thrown) ? "unavailable" : "ambiguous", { cause: thrown });
}

/** A body that is no JSON arrives as the "name" of an error: nobody knows what it means, and it is not repeated anywhere. */
function named(name: string): SlackError {
  if (!/^[a-z][a-z0-9_]{0,79}$/.test(name)) return new SlackError("ambiguous");
  return new SlackError(kindOfSlackError(name), { slackError: name });
}

/** Several addresses may have been tried: unsent only if all of them refused. Told by form, since `fetch` makes its own errors. */
function wasNotConnected(thrown: unknown): boolean {
  const { code, errors, cause } = Object(thrown) as { code?: unknown; errors?: unknown; cause?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(wasNotConnected);
  if (typeof code === "string" && notConnected.includes(code)) return true;
  return cause !== undefined && cause !== thrown && wasNotConnected(cause);
}
