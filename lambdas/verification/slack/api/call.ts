/** Calls a method of Slack's Web API with the token of an installation, retries if that is safe, and turns failures into SlackErrors. */

import { subscribe } from "node:diagnostics_channel";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "@slack/web-api";
import * as z from "zod";
import { abortable, backoffMs } from "../../../shared/async/waiting.ts";
import { readBody } from "../../../shared/http/read-body.ts";
import type { Log } from "../../../shared/log.ts";
import type { Telemetry } from "../../../shared/telemetry/telemetry.ts";
import type { Installation } from "../../task/messages.ts";
import { type BotTokens, SlackError } from "./slack.ts";
import { toSlackErrorKind } from "./slack-errors.ts";

/** Resolves to Slack's answer, or to undefined for an error in `fine`. Rejects with a SlackError. */
export type SlackCall = (request: {
  method: string;
  args: Record<string, unknown>;
  installation: Installation;
  signal: AbortSignal;
  requestId: string;
  /** The call is idempotent. */
  repeatable: boolean;
  /** Slack's errors that mean that the work is already done. */
  fine?: readonly string[];
  /** Slack's errors that count as `refused` for this call, whatever they mean for others. */
  refusals?: readonly string[];
}) => Promise<unknown>;

export function createSlackCall(options: {
  tokens: BotTokens;
  apiUrl: string;
  timeoutMs: number;
  repeating: RepeatCall;
}): SlackCall {
  const { tokens, apiUrl, timeoutMs, repeating } = options;
  return ({ method, args, installation, signal, requestId, repeatable, fine = [], refusals = [] }) => {
    const callWith = (token: () => Promise<string>) => callWebApi({ token, apiUrl, method, args, timeoutMs, signal });

    async function callOnceOrTwice(): Promise<unknown> {
      let tried = "";
      try {
        return await callWith(async () => {
          tried = await tokens.tokenOf(installation);
          return tried;
        });
      } catch (thrown) {
        if (!tokenErrors.includes(toSlackError(thrown).slackError ?? "")) throw thrown;
        // The token may have been rotated while it was cached.
        const newer = await tokens.newerThan({ installation, tried }).catch(() => undefined);
        if (newer === undefined) throw thrown;
        return await callWith(async () => newer);
      }
    }

    const exchange = () =>
      callOnceOrTwice().catch((thrown: unknown) => {
        const error = toSlackError(thrown);
        const { slackError = "" } = error;
        if (fine.includes(slackError)) return undefined;
        throw refusals.includes(slackError) ? new SlackError("refused", { slackError }) : error;
      });
    return repeating({ method, requestId, repeatable, signal, exchange });
  };
}

/** Slack checks the token first, so nothing has been done if it answers with one of these. */
const tokenErrors: readonly string[] = [
  "invalid_auth",
  "not_authed",
  "token_expired",
  "token_revoked",
  "account_inactive",
];

const ignore = () => {};
/** The client library would log the messages that it sends. */
const silentLogger = {
  ...{ debug: ignore, info: ignore, warn: ignore, error: ignore, setLevel: ignore, setName: ignore },
  getLevel: () => "error",
} as Logger;
/** Visible ASCII. `fetch` throws on most other characters in a header. */
const headerValue = /^[\x21-\x7e]+$/;

/**
 * Calls Slack once. The client library's own retries are off, because they would post again after a 500. Each call creates a
 * client for its own token and signal, which takes less than 0.1 ms. The library is loaded on first use, because loading takes
 * 30 to 60 ms.
 *
 * Rejects with the library's error, or with a SlackError if nothing was sent: `unavailable` without a token, `gone` for a
 * token that does not fit into a header, `refused` for arguments that cannot be encoded.
 */
export async function callWebApi(request: {
  token: () => Promise<string>;
  apiUrl: string;
  method: string;
  args: Record<string, unknown>;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<unknown> {
  const { token, apiUrl, method, args, timeoutMs, signal } = request;
  const { WebClient } = await import("@slack/web-api");
  // The time-out starts after the library has loaded, which can take seconds on a busy machine.
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const secret = await abortable({ promise: token(), signal: bounded }).catch((cause: unknown) => {
    throw cause instanceof SlackError ? cause : new SlackError("unavailable", { cause });
  });
  // Slack would answer the same if such a token could be sent.
  if (!headerValue.test(secret)) throw new SlackError("gone", { slackError: "invalid_auth" });
  const send = boundedFetch({ signal: bounded });
  let mayBeSent = false;
  try {
    const client = new WebClient(secret, {
      slackApiUrl: apiUrl,
      fetch: (input, init) => {
        mayBeSent = true;
        return send(input, init);
      },
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      logger: silentLogger,
    });
    return await client.apiCall(method, encodeArgs(args));
  } catch (cause) {
    throw mayBeSent ? cause : new SlackError("refused", { cause });
  }
}

/**
 * Encodes objects as JSON, like the client library does. Half a surrogate pair becomes U+FFFD, because the library's form encoding
 * throws on it. Throws on a value that JSON cannot hold, such as a cycle or a BigInt.
 */
function encodeArgs(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, encode(value)]));
}

function encode(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "string" ? member.toWellFormed() : member,
  );
}

export type RepeatCall = <T>(request: {
  /** For the log. */
  method: string;
  requestId: string;
  /** The call is idempotent. */
  repeatable: boolean;
  signal: AbortSignal;
  exchange: () => Promise<T>;
}) => Promise<T>;

/** The returned function rejects with a SlackError. If Slack asks to wait longer than `maxDelayMs`, the caller gets the error. */
export function createRepeatCall(options: {
  log: Log;
  telemetry: Telemetry;
  maxDelayMs: number;
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  random?: (() => number) | undefined;
}): RepeatCall {
  const { log, maxDelayMs, sleep = (ms, signal) => wait(ms, undefined, { signal }) } = options;
  const { random = Math.random } = options;
  const { metrics, spans } = options.telemetry;
  return async ({ method, requestId, repeatable, signal, exchange }) => {
    for (let attempt = 0; ; attempt++) {
      const startedAtMs = Date.now();
      try {
        const call = { "rpc.system.name": "slack", "rpc.method": method };
        const attributes = { ...call, "sekisho.request_id": requestId, "sekisho.attempt": attempt + 1 };
        const answer = await spans.within({ name: `slack ${method}`, kind: "client", attributes }, exchange);
        metrics.add("sekisho_slack_calls_total", { method, result: "ok" });
        return answer;
      } catch (thrown) {
        const error = toSlackError(thrown);
        metrics.add("sekisho_slack_calls_total", { method, result: error.kind });
        const delayMs = slackRetryDelayMs({ error, attempt, repeatable, maxDelayMs, random });
        const fields = { reason: error.kind, slack_error: error.slackError, attempt, delay_ms: delayMs };
        log.warn("slack_call_failed", {
          request_id: requestId,
          method,
          ...fields,
          duration_ms: Date.now() - startedAtMs,
        });
        if (delayMs === undefined) throw error;
        await sleep(delayMs, signal).catch(() => {});
        if (signal.aborted) throw error;
      }
    }
  };
}

const maxAttempts = 3;
const baseMs = 300;
const capMs = 3000;

/**
 * Returns the milliseconds to wait, or undefined to give up. `attempt` counts from 0. An ambiguous failure is retried only if the
 * call is `repeatable`: a post is not, because the first one may already be in the thread. Slack's `Retry-After` is obeyed
 * exactly, or not at all if it is longer than `maxDelayMs`.
 */
export function slackRetryDelayMs(request: {
  error: Pick<SlackError, "kind" | "retryAfterMs"> & Partial<Pick<SlackError, "tooLarge">>;
  attempt: number;
  repeatable: boolean;
  maxDelayMs: number;
  random: () => number;
}): number | undefined {
  const { attempt, repeatable, maxDelayMs, random } = request;
  const { kind, retryAfterMs, tooLarge } = request.error;
  if (tooLarge) return undefined;
  const mayRepeat = kind === "rate_limited" || kind === "unavailable" || (kind === "ambiguous" && repeatable);
  if (!mayRepeat || attempt + 1 >= maxAttempts) return undefined;
  const delayMs = retryAfterMs ?? backoffMs({ attempt, baseMs, capMs, random });
  return delayMs <= maxDelayMs ? delayMs : undefined;
}

/** The client library's errors, recognized by their fields, because importing their classes would load the library. */
const platformError = z.object({
  code: z.literal("slack_webapi_platform_error"),
  data: z.object({ error: z.string() }),
});
const rateLimitedError = z.object({ code: z.literal("slack_webapi_rate_limited_error"), retryAfter: z.number() });
const httpError = z.object({ code: z.literal("slack_webapi_http_error"), statusCode: z.number() });

/** An error is `ambiguous` unless it is certainly a refusal or certainly unsent. Slack's answers never become a cause, since they may hold texts. */
export function toSlackError(thrown: unknown): SlackError {
  if (thrown instanceof SlackError) return thrown;
  const platform = platformError.safeParse(thrown).data;
  if (platform !== undefined) return fromName(platform.data.error);
  const limited = rateLimitedError.safeParse(thrown).data;
  if (limited !== undefined) return new SlackError("rate_limited", { retryAfterMs: limited.retryAfter * 1000 });
  const http = httpError.safeParse(thrown).data;
  // Slack itself answers with 200 or 429. Any other status below 500 comes from a proxy that rejected the request.
  if (http !== undefined) return new SlackError(http.statusCode < 500 ? "unavailable" : "ambiguous");
  if (isTooLarge(thrown)) return new SlackError("ambiguous", { tooLarge: true });
  return new SlackError(isConnectError(thrown) ? "unavailable" : "ambiguous", { cause: thrown });
}

/** Checks `thrown` and its causes. */
function isTooLarge(thrown: unknown): boolean {
  if (thrown instanceof ResponseTooLarge) return true;
  return typeof thrown === "object" && thrown !== null && "cause" in thrown && isTooLarge(thrown.cause);
}

/** A body that is not JSON arrives as the "name" of an error. Such a name is ambiguous and is not passed on. */
function fromName(name: string): SlackError {
  if (!/^[a-z][a-z0-9_]{0,79}$/.test(name)) return new SlackError("ambiguous");
  return new SlackError(toSlackErrorKind(name), { slackError: name });
}

/**
 * Errors from before a connection existed, so nothing was sent. Error codes cannot tell: a TLS error or a reset may come in the
 * handshake or within an answer. Node's `fetch` publishes these (https://undici.nodejs.org/#/docs/api/DiagnosticsChannel).
 */
const connectErrors = new WeakSet<object>();
subscribe("undici:client:connectError", (message) => {
  connectErrors.add((message as { error: Error }).error);
});

/** Checks `thrown` and its causes. */
function isConnectError(thrown: unknown): boolean {
  if (typeof thrown !== "object" || thrown === null) return false;
  return connectErrors.has(thrown) || ("cause" in thrown && isConnectError(thrown.cause));
}

/** Bounds memory. A page of long messages can exceed it, because Slack sends up to 40,000 characters twice, as text and as blocks. */
const maxResponseBytes = 16 * 1024 * 1024;
/** Used for a 429 without a usable `Retry-After`. */
const defaultRetryAfterSeconds = "30";

/** Slack may have carried out the request. */
class ResponseTooLarge extends Error {
  constructor() {
    super("The response is larger than allowed.");
    this.name = "ResponseTooLarge";
  }
}

/**
 * Returns a `fetch` that also reads the body, so that the signal and the size limit apply to the body as well. It passes on only
 * the headers that are used.
 */
export function boundedFetch(options: { signal: AbortSignal; maxBytes?: number }): typeof globalThis.fetch {
  const { signal, maxBytes = maxResponseBytes } = options;
  return async (input, init) => {
    const response = await fetch(input, { ...init, signal }).catch((cause: unknown) => {
      // Under a test runner, an error of another realm would reach the caller as plain text, without its cause.
      throw new Error("The request failed.", { cause });
    });
    const stream = response.body as AsyncIterable<Uint8Array> | null;
    const body = stream && (await readBody({ body: stream, maxBytes }));
    if (body === "too_large") throw new ResponseTooLarge();
    const headers = new Headers({ "content-type": response.headers.get("content-type") ?? "" });
    const retryAfter = response.headers.get("retry-after");
    if (retryAfter !== null && /^\d{1,6}$/.test(retryAfter)) headers.set("retry-after", retryAfter);
    else if (response.status === 429) headers.set("retry-after", defaultRetryAfterSeconds);
    const scopes = response.headers.get("x-oauth-scopes");
    if (scopes !== null) headers.set("x-oauth-scopes", scopes);
    return new Response(body, { status: response.status, headers });
  };
}
