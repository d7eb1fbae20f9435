/** Implements the Slack interface with the Web API (https://docs.slack.dev/reference/methods). */

import { isSecureUrl } from "@sekisho/contracts/loopback.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { noTelemetry, type Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createRepeatCall, createSlackCall } from "./call.ts";
import { createFileCalls } from "./files.ts";
import { createLookupCalls } from "./lookups.ts";
import { createMessageReads, removeForwardsOfAnswers } from "./messages.ts";
import { createAssistant, createPosts, createStreams, createViews } from "./posts.ts";
import type { BotTokens, SlackApi } from "./slack.ts";

/**
 * Every call reads the token again, so that a rotated one takes effect. If Slack rejects it, the call is made once more with a
 * newer token. `timeoutMs` bounds each exchange and each wait before a retry, and `uploadTimeoutMs` the transfer of a file's
 * bytes. The caller's signal bounds everything together. `apiUrl` must be https, or http on loopback.
 */
export function createSlackApi(options: {
  tokens: BotTokens;
  apiUrl?: string;
  /** False: forwarded messages are not read (`slack.context.forwards`). */
  forwards?: boolean;
  log: Log;
  telemetry?: Telemetry | undefined;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  timeoutMs?: number;
  uploadTimeoutMs?: number;
}): SlackApi {
  const {
    tokens,
    apiUrl = "https://slack.com/api/",
    forwards = true,
    log,
    telemetry = noTelemetry,
    sleep,
    random,
  } = options;
  const { timeoutMs = 10_000, uploadTimeoutMs = 60_000 } = options;
  requireSafeUrl(apiUrl);
  const repeating = createRepeatCall({ log, telemetry, maxDelayMs: timeoutMs, sleep, random });
  const call = createSlackCall({ tokens, apiUrl, timeoutMs, repeating });
  return {
    ...createPosts(call),
    ...createMessageReads(forwards ? call : removeForwardsOfAnswers(call)),
    ...createLookupCalls(call),
    ...createStreams(call),
    ...createFileCalls({ call, repeating, apiUrl, uploadTimeoutMs }),
    ...createAssistant(call),
    ...createViews(call),
  };
}

function requireSafeUrl(apiUrl: string): void {
  const url = URL.parse(apiUrl);
  if (url !== null && isSecureUrl(url)) return;
  throw new Error("The Slack API URL must be https (http only on loopback).");
}
