/** The Slack seam over the real Web API (https://docs.slack.dev/reference/methods), or whatever speaks like it at `apiUrl`. */
import { isLoopbackHost } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import { noTelemetry, type Telemetry } from "../../shared/telemetry/telemetry.ts";
import type { Tokens } from "../installations/tokens.ts";
import { createRepeating } from "./repeating.ts";
import type { SlackApi } from "./slack.ts";
import { createSlackCall } from "./slack-call.ts";
import { createAssistant } from "./web-api-assistant.ts";
import { createFileCalls } from "./web-api-files.ts";
import { createMessages } from "./web-api-messages.ts";
import { createPeople } from "./web-api-people.ts";
import { createPosts } from "./web-api-posts.ts";
import { createStreams } from "./web-api-streams.ts";

/**
 * The token of the installation is asked for at every call, so that a rotated one is used; where Slack does not take it,
 * `tokens` may know a newer one, and the call is made once more. `timeoutMs` bounds one exchange (that of a file's bytes:
 * `uploadTimeoutMs`) and each wait before it is repeated; the caller's signal bounds the whole. `apiUrl` is https, or http on
 * loopback.
 */
export function createSlackApi({
  tokens,
  apiUrl = "https://slack.com/api/",
  log,
  telemetry = noTelemetry,
  now,
  sleep,
  random,
  timeoutMs = 10_000,
  uploadTimeoutMs = 60_000,
}: {
  tokens: Tokens;
  apiUrl?: string;
  log: Log;
  telemetry?: Telemetry | undefined;
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  timeoutMs?: number;
  uploadTimeoutMs?: number;
}): SlackApi {
  requireSafeUrl(apiUrl);
  const repeating = createRepeating({ log, telemetry, maxDelayMs: timeoutMs, now, sleep, random });
  const call = createSlackCall({ tokens, apiUrl, timeoutMs, repeating });
  return {
    ...createPosts(call),
    ...createMessages(call),
    ...createPeople(call),
    ...createStreams(call),
    ...createFileCalls({ call, repeating, apiUrl, uploadTimeoutMs }),
    ...createAssistant(call),
  };
}

function requireSafeUrl(apiUrl: string): void {
  const url = URL.parse(apiUrl);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname))) return;
  throw new Error("The Slack API URL must be https (http only on loopback).");
}
