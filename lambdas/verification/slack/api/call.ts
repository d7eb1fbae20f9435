/**
 * One call to a method of Slack's Web API: with the token of an installation, repeated where that helps and does no harm, and with a
 * SlackError for every failure.
 */

import { subscribe } from "node:diagnostics_channel";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "@slack/web-api";
import * as z from "zod";
import { abortable, backoffMs } from "../../../shared/async/waiting.ts";
import { readBody } from "../../../shared/http/read-body.ts";
import type { Log } from "../../../shared/log.ts";
import type { SpanStart, Telemetry } from "../../../shared/telemetry/telemetry.ts";
import type { Installation } from "../../task/messages.ts";
import { type BotTokens, SlackError } from "./slack.ts";
import { toSlackErrorKind } from "./slack-errors.ts";

/** Resolves to Slack's answer, or to undefined for an error that is `fine`. Rejects with a SlackError. */
export type SlackCall = (request: {
  method: string;
  args: Record<string, unknown>;
  installation: Installation;
  signal: AbortSignal;
  requestId: string;
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  /** Slack's errors that say that it is done already. */
  fine?: readonly string[];
  /** Slack's errors that are about this call alone, whatever they mean elsewhere: `refused`. */
  refusals?: readonly string[];
}) => Promise<unknown>;

export function createSlackCall({
  tokens,
  apiUrl,
  timeoutMs,
  repeating,
}: {
  tokens: BotTokens;
  apiUrl: string;
  timeoutMs: number;
  repeating: RepeatCall;
}): SlackCall {
  return ({ method, args, installation, signal, requestId, repeatable, fine = [], refusals = [] }) => {
    const exchange = () =>
      withRotation({
        token: () => tokens.tokenOf(installation),
        newerToken: (tried) => tokens.newerThan({ installation, tried }),
        use: (token) => callWebApi({ token, apiUrl, method, args, timeoutMs, signal }),
      }).catch((thrown: unknown) => {
        const error = toSlackError(thrown);
        const { slackError = "" } = error;
        if (fine.includes(slackError)) return undefined;
        throw refusals.includes(slackError) ? new SlackError("refused", { slackError }) : error;
      });
    return repeating({ method, requestId, repeatable, signal, exchange });
  };
}

/** The package would log what it sends. */
const nothing = () => {};
const silentMethods = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  setName: nothing,
};
/** Visible ASCII: `fetch` throws on most other characters in a header. */
const headerValue = /^[\x21-\x7e]+$/;
const silentLogger = { ...silentMethods, getLevel: () => "error" } as Logger;

/**
 * Its own retries are off: it would post again after a 500. A client per call, since token and signal belong to one call
 * (making one takes less than 0.1 ms). The package is loaded at the first call: that takes 30 to 60 ms, which the start
 * does not have to wait for.
 *
 * Rejects with what the package throws, or with a SlackError for what fails before `fetch` is called. Nothing was sent then:
 * `unavailable` without a token, `gone` with a token that no header can carry, `refused` for arguments that cannot be encoded.
 */
export async function callWebApi({
  token,
  apiUrl,
  method,
  args,
  timeoutMs,
  signal,
}: {
  token: () => Promise<string>;
  apiUrl: string;
  method: string;
  args: Record<string, unknown>;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<unknown> {
  const { WebClient } = await import("@slack/web-api");
  // Begins after the load, which can take seconds on a busy machine and is no part of the exchange.
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const secret = await abortable({ promise: token(), signal: bounded }).catch((cause: unknown) => {
    throw cause instanceof SlackError ? cause : new SlackError("unavailable", { cause });
  });
  // Slack would say the same of it, if it could be sent.
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
 * Objects become JSON, as the client would make them. Strings become well-formed: half a surrogate pair turns into U+FFFD,
 * because the client's form encoding throws on it. Throws on a value that JSON cannot hold (a cycle, a BigInt).
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

/** Slack looks at the token first, so nothing has been done where one of these comes. */
const refusals: readonly string[] = [
  "invalid_auth",
  "not_authed",
  "token_expired",
  "token_revoked",
  "account_inactive",
];

/** A token that was rotated while it was kept: what Slack refused for the token's sake is asked for once more with a newer one. */
async function withRotation<T>({
  token,
  newerToken,
  use,
}: {
  token: () => Promise<string>;
  /** Another token than `tried`, where there is one. */
  newerToken: (tried: string) => Promise<string | undefined>;
  use: (token: () => Promise<string>) => Promise<T>;
}): Promise<T> {
  let tried = "";
  const reading = async () => {
    tried = await token();
    return tried;
  };
  try {
    return await use(reading);
  } catch (thrown) {
    if (!refusals.includes(toSlackError(thrown).slackError ?? "")) throw thrown;
    const newer = await newerToken(tried).catch(() => undefined);
    if (newer === undefined) throw thrown;
    return await use(async () => newer);
  }
}

export type RepeatCall = <T>(request: {
  /** For the log. */
  method: string;
  requestId: string;
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  signal: AbortSignal;
  exchange: () => Promise<T>;
}) => Promise<T>;

/** What it gives rejects with a SlackError. `maxDelayMs`: whatever asks for a longer wait is left to the caller. */
export function createRepeatCall({
  log,
  telemetry: { metrics, spans },
  maxDelayMs,
  now = Date.now,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
  random = Math.random,
}: {
  log: Log;
  telemetry: Telemetry;
  maxDelayMs: number;
  now?: (() => number) | undefined;
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  random?: (() => number) | undefined;
}): RepeatCall {
  return async ({ method, requestId, repeatable, signal, exchange }) => {
    for (let attempt = 0; ; attempt++) {
      const startedAtMs = now();
      try {
        const answer = await spans.within(startCallSpan({ method, requestId, attempt }), exchange);
        metrics.add("sekisho_slack_calls_total", { method, result: "ok" });
        return answer;
      } catch (thrown) {
        const error = toSlackError(thrown);
        metrics.add("sekisho_slack_calls_total", { method, result: error.kind });
        const delayMs = slackRetryDelayMs({ error, attempt, repeatable, maxDelayMs, random });
        const fields = { reason: error.kind, slack_error: error.slackError, attempt, delay_ms: delayMs };
        log.warn("slack_call_failed", { request_id: requestId, method, ...fields, duration_ms: now() - startedAtMs });
        if (delayMs === undefined) throw error;
        await sleep(delayMs, signal).catch(() => {});
        if (signal.aborted) throw error;
      }
    }
  };
}

/** Of whatever is under way: a step of a task, or the answer to a button. */
function startCallSpan({
  method,
  requestId,
  attempt,
}: {
  method: string;
  requestId: string;
  attempt: number;
}): SpanStart {
  const attributes = { "rpc.method": method, "sekisho.request_id": requestId, "sekisho.attempt": attempt + 1 };
  return { name: `slack ${method}`, kind: "client", attributes: { "rpc.system.name": "slack", ...attributes } };
}

const maxAttempts = 3;
const baseMs = 300;
const capMs = 3000;

/**
 * Milliseconds to wait, or undefined to give up. `attempt` counts from 0. `repeatable`: doing it twice is the same as once,
 * so an ambiguous failure may be repeated; a post is not, since the first may be there already.
 * Slack's own `Retry-After` is obeyed to the millisecond, and where it is longer than `maxDelayMs` nothing is repeated here.
 */
export function slackRetryDelayMs({
  error: { kind, retryAfterMs, tooLarge },
  attempt,
  repeatable,
  maxDelayMs,
  random,
}: {
  error: Pick<SlackError, "kind" | "retryAfterMs"> & Partial<Pick<SlackError, "tooLarge">>;
  attempt: number;
  repeatable: boolean;
  maxDelayMs: number;
  random: () => number;
}): number | undefined {
  if (tooLarge) return undefined;
  const mayRepeat = kind === "rate_limited" || kind === "unavailable" || (kind === "ambiguous" && repeatable);
  if (!mayRepeat || attempt + 1 >= maxAttempts) return undefined;
  const delayMs = retryAfterMs ?? backoffMs({ attempt, baseMs, capMs, random });
  return delayMs <= maxDelayMs ? delayMs : undefined;
}

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
  return new SlackError(toSlackErrorKind(name), { slackError: name });
}

/**
 * Codes do not suffice: a TLS error, or a reset, may come in the handshake or in the middle of an answer. Undici, which
 * is Node's `fetch`, publishes those of the first kind (https://undici.nodejs.org/#/docs/api/DiagnosticsChannel).
 */
const toPublishedName = new WeakSet<object>();
subscribe("undici:client:connectError", (message) => {
  toPublishedName.add((message as { error: Error }).error);
});

/** `thrown` or any of its causes. */
function isConnectError(thrown: unknown): boolean {
  if (typeof thrown !== "object" || thrown === null) return false;
  return toPublishedName.has(thrown) || ("cause" in thrown && isConnectError(thrown.cause));
}

/** Bounds memory. A page of long messages can exceed it: Slack has 40,000 characters twice, as text and as blocks. */
const maxResponseBytes = 16 * 1024 * 1024;
/** What a 429 without a usable `Retry-After` is taken to ask for. */
const defaultRetryAfterSeconds = "30";

/** The response has more bytes than are read. The request may have been carried out. */
class ResponseTooLarge extends Error {
  constructor() {
    super("The response is larger than allowed.");
    this.name = "ResponseTooLarge";
  }
}

/**
 * The body is read here, so that the signal and the bound hold for it as well. The client adds a signal of its own only
 * for a time-out that it is not given.
 */
export function boundedFetch({
  signal,
  maxBytes = maxResponseBytes,
}: {
  signal: AbortSignal;
  maxBytes?: number;
}): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, signal }).catch((cause: unknown) => {
      // What is no Error of this realm (under a test runner) would reach the client's caller as a text, without its cause.
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
