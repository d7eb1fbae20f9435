/** Calls methods of Slack's Web API with the token of an installation, and retries where that is safe. */

import { setTimeout as wait } from "node:timers/promises";
import { backoffMs } from "@sekisho/runtime/async/waiting.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Installation } from "../../task/messages.ts";
import { type BotTokens, SlackError } from "./slack.ts";
import { callWebApi, toSlackError } from "./web-call.ts";

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
  return ({
    method,
    args,
    installation,
    signal,
    requestId,
    repeatable,
    fine = [],
    refusals = [],
  }) => {
    const callWith = (token: () => Promise<string>) =>
      callWebApi({ token, apiUrl, method, args, timeoutMs, signal });

    async function callOnceOrTwice(): Promise<unknown> {
      let triedToken = "";
      try {
        return await callWith(async () => {
          triedToken = await tokens.tokenOf(installation);
          return triedToken;
        });
      } catch (error) {
        if (!tokenErrors.includes(toSlackError(error).slackError ?? "")) throw error;
        // The token may have been rotated while it was cached.
        const newer = await tokens
          .readNewerToken({ installation, tried: triedToken })
          .catch(() => undefined);
        if (newer === undefined) throw error;
        return await callWith(async () => newer);
      }
    }

    const exchange = () =>
      callOnceOrTwice().catch((cause: unknown) => {
        const error = toSlackError(cause);
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
        const attributes = {
          ...call,
          "sekisho.request_id": requestId,
          "sekisho.attempt": attempt + 1,
        };
        const answer = await spans.within(
          { name: `slack ${method}`, kind: "client", attributes },
          exchange,
        );
        metrics.add("sekisho_slack_calls_total", { method, result: "ok" });
        return answer;
      } catch (cause) {
        const error = toSlackError(cause);
        metrics.add("sekisho_slack_calls_total", { method, result: error.kind });
        const delayMs = slackRetryDelayMs({ error, attempt, repeatable, maxDelayMs, random });
        const fields = {
          reason: error.kind,
          slack_error: error.slackError,
          attempt,
          delay_ms: delayMs,
        };
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
  const mayRepeat =
    kind === "rate_limited" || kind === "unavailable" || (kind === "ambiguous" && repeatable);
  if (!mayRepeat || attempt + 1 >= maxAttempts) return undefined;
  const delayMs = retryAfterMs ?? backoffMs({ attempt, baseMs, capMs, random });
  return delayMs <= maxDelayMs ? delayMs : undefined;
}
