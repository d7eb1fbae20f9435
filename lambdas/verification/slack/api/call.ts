/** One method of the Web API, called with the token of an installation; what all calls of the Slack seam have in common. */

import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "@slack/web-api";
import { abortable } from "../../../shared/async/abortable.ts";
import { backoffMs } from "../../../shared/async/retry-delay.ts";
import type { Log } from "../../../shared/log.ts";
import type { SpanStart } from "../../../shared/telemetry/spans.ts";
import type { Telemetry } from "../../../shared/telemetry/telemetry.ts";
import type { Installation } from "../../task/messages.ts";

import { boundedFetch } from "./bounded-fetch.ts";
import type { Tokens } from "./slack.ts";
import { SlackError } from "./slack.ts";
import { toSlackError } from "./to-slack-error.ts";

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
  tokens: Tokens;
  apiUrl: string;
  timeoutMs: number;
  repeating: Repeating;
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

// One exchange with the Web API through `@slack/web-api`, which is asked for nothing but the call itself.

/** The package would log what it sends. */
const nothing = () => {};
const mute = { debug: nothing, info: nothing, warn: nothing, error: nothing, setLevel: nothing, setName: nothing };
/** Visible ASCII: `fetch` throws on most other characters in a header. */
const headerValue = /^[\x21-\x7e]+$/;
const silentLogger = { ...mute, getLevel: () => "error" } as Logger;

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
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const { WebClient } = await import("@slack/web-api");
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

// Encodes the arguments of a Web API call for Slack's forms.

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

// A token that was rotated while it was kept: what Slack refused for the token's sake is asked for once more with a newer one.

/** Slack looks at the token first, so nothing has been done where one of these comes. */
const refusals: readonly string[] = [
  "invalid_auth",
  "not_authed",
  "token_expired",
  "token_revoked",
  "account_inactive",
];

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

// Exchanges with Slack that are made again at once where that helps and does no harm; each failure is one line of the log.

export type Repeating = <T>(request: {
  /** For the log. */
  method: string;
  requestId: string;
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  signal: AbortSignal;
  exchange: () => Promise<T>;
}) => Promise<T>;

/** What it gives rejects with a SlackError. `maxDelayMs`: whatever asks for a longer wait is left to the caller. */
export function createRepeating({
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
}): Repeating {
  return async ({ method, requestId, repeatable, signal, exchange }) => {
    for (let attempt = 0; ; attempt++) {
      const startedAtMs = now();
      try {
        const answer = await spans.within(spanOf({ method, requestId, attempt }), exchange);
        metrics.add("sekisho_slack_calls_total", { method, result: "ok" });
        return answer;
      } catch (thrown) {
        const error = toSlackError(thrown);
        metrics.add("sekisho_slack_calls_total", { method, result: error.kind });
        const delayMs = retryDelayMs({ error, attempt, repeatable, maxDelayMs, random });
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
function spanOf({ method, requestId, attempt }: { method: string; requestId: string; attempt: number }): SpanStart {
  const attributes = { "rpc.method": method, "sekisho.request_id": requestId, "sekisho.attempt": attempt + 1 };
  return { name: `slack ${method}`, kind: "client", attributes: { "rpc.system.name": "slack", ...attributes } };
}

// Whether, and when, a failed Slack call is made again at once; what is not is left to the caller, who knows of later.

const maxAttempts = 3;
const baseMs = 300;
const capMs = 3000;

/**
 * Milliseconds to wait, or undefined to give up. `attempt` counts from 0. `repeatable`: doing it twice is the same as once,
 * so an ambiguous failure may be repeated; a post is not, since the first may be there already.
 * Slack's own `Retry-After` is obeyed to the millisecond, and where it is longer than `maxDelayMs` nothing is repeated here.
 */
export function retryDelayMs({
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
