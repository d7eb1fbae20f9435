/** What `@slack/web-api` throws, as the one error that the rest of the product knows. */

import { subscribe } from "node:diagnostics_channel";
import * as z from "zod";
import { ResponseTooLarge } from "./bounded-fetch.ts";
import { SlackError } from "./slack.ts";
import { kindOfSlackError } from "./slack-errors.ts";

/** The package's own marks on its errors; read as data, so that nothing here loads the package. */
const platformError = z.object({
  code: z.literal("slack_webapi_platform_error"),
  data: z.object({ error: z.string() }),
});
const rateLimitedError = z.object({ code: z.literal("slack_webapi_rate_limited_error"), retryAfter: z.number() });
const httpError = z.object({ code: z.literal("slack_webapi_http_error"), statusCode: z.number() });

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
  if (isTooLarge(thrown)) return new SlackError("ambiguous", { tooLarge: true });
  return new SlackError(isConnectError(thrown) ? "unavailable" : "ambiguous", { cause: thrown });
}

/** `thrown` or any of its causes. */
function isTooLarge(thrown: unknown): boolean {
  if (thrown instanceof ResponseTooLarge) return true;
  return typeof thrown === "object" && thrown !== null && "cause" in thrown && isTooLarge(thrown.cause);
}

/** A body that is no JSON arrives as the "name" of an error: nobody knows what it means, and it is not repeated anywhere. */
function named(name: string): SlackError {
  if (!/^[a-z][a-z0-9_]{0,79}$/.test(name)) return new SlackError("ambiguous");
  return new SlackError(kindOfSlackError(name), { slackError: name });
}

// Tells failures to connect from all other failures of `fetch`: no address, no connection, no TLS, so nothing was sent.

/**
 * Codes do not suffice: a TLS error, or a reset, may come in the handshake or in the middle of an answer. Undici, which
 * is Node's `fetch`, publishes those of the first kind (https://undici.nodejs.org/#/docs/api/DiagnosticsChannel).
 */
const published = new WeakSet<object>();
subscribe("undici:client:connectError", (message) => {
  published.add((message as { error: Error }).error);
});

/** `thrown` or any of its causes. */
function isConnectError(thrown: unknown): boolean {
  if (typeof thrown !== "object" || thrown === null) return false;
  return published.has(thrown) || ("cause" in thrown && isConnectError(thrown.cause));
}
