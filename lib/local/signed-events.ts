/** Delivers events and forms as Slack does: signed when they are sent, and events again if they are not acknowledged. */
import { createHmac } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { readJson } from "./read-json.ts";

export type Delivery = {
  /** The last delivery's HTTP status. Undefined without an answer. */
  status: number | undefined;
  deliveries: number;
  /** No delivery was acknowledged, but one had no answer or a 5xx, so the app may have accepted it. */
  isAmbiguous: boolean;
};

/** `reply` is the JSON of the answer, if it has any. */
export type FormDelivered = Delivery & { reply?: unknown };

/** Slack waits this long for an answer. */
const slackAnswerTimeoutMs = 3000;
/** Slack retries at once, after a minute, and after five minutes. */
const slackRetryDelaysMs: readonly number[] = [0, 60_000, 300_000];

type EventDelivery = {
  eventsUrl: string;
  signingSecret: string;
  payload: unknown;
  retryDelaysMs?: readonly number[];
  answerTimeoutMs?: number;
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  signal?: AbortSignal;
};

/**
 * Sends an event, signed with version v0 (https://docs.slack.dev/authentication/verifying-requests-from-slack). Without a 2xx
 * it sends the event again after each of `retryDelaysMs`, unless the answer has `X-Slack-No-Retry: 1`. Never rejects.
 */
export async function sendEvent({
  eventsUrl,
  signingSecret,
  payload,
  retryDelaysMs = slackRetryDelaysMs,
  answerTimeoutMs = slackAnswerTimeoutMs,
  now = Date.now,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
  signal = new AbortController().signal,
}: EventDelivery): Promise<Delivery> {
  const body = JSON.stringify(payload);
  let retryReason: string | undefined;
  let isAmbiguous = false;
  for (let deliveries = 1; ; deliveries++) {
    const headers = {
      ...signHeaders({ signingSecret, body, contentType: "application/json", now }),
      ...(retryReason === undefined
        ? {}
        : { "x-slack-retry-num": String(deliveries - 1), "x-slack-retry-reason": retryReason }),
    };
    const answer = await post({ eventsUrl, headers, body, answerTimeoutMs, signal });
    isAmbiguous = !answer.taken && (isAmbiguous || mayHaveArrived(answer.status));
    const delivery = { status: answer.status, deliveries, isAmbiguous };
    const delayMs = retryDelaysMs[deliveries - 1];
    if (answer.taken || answer.noRetry || delayMs === undefined) return delivery;
    retryReason = answer.status === undefined ? "connection_failed" : "http_error";
    await sleep(delayMs, signal).catch(() => {});
    if (signal.aborted) return delivery;
  }
}

function mayHaveArrived(status: number | undefined): boolean {
  return status === undefined || status >= 500;
}

type FormDelivery = {
  url: string;
  signingSecret: string;
  form: Record<string, string>;
  answerTimeoutMs?: number;
  now?: () => number;
  signal?: AbortSignal;
};

/** Sends a slash command, a button click, a shortcut or a submitted modal, signed in the same way. Slack never retries these. */
export async function sendForm(request: FormDelivery): Promise<FormDelivered> {
  const { url, signingSecret, form, answerTimeoutMs = slackAnswerTimeoutMs } = request;
  const { now = Date.now, signal = new AbortController().signal } = request;
  const body = new URLSearchParams(form).toString();
  const headers = signHeaders({
    signingSecret,
    body,
    contentType: "application/x-www-form-urlencoded",
    now,
  });
  const { status, taken, text } = await post({
    eventsUrl: url,
    headers,
    body,
    answerTimeoutMs,
    signal,
  });
  const reply = text === "" ? undefined : readJson(text);
  return { status, deliveries: 1, isAmbiguous: !taken && mayHaveArrived(status), reply };
}

type SignedBody = { signingSecret: string; body: string; contentType: string; now: () => number };

export function signHeaders({
  signingSecret,
  body,
  contentType,
  now,
}: SignedBody): Record<string, string> {
  const timestamp = String(Math.floor(now() / 1000));
  const signature = sign({ signingSecret, timestamp, body });
  return {
    "content-type": contentType,
    "x-slack-request-timestamp": timestamp,
    "x-slack-signature": signature,
  };
}

function sign({
  signingSecret,
  timestamp,
  body,
}: {
  signingSecret: string;
  timestamp: string;
  body: string;
}): string {
  return `v0=${createHmac("sha256", signingSecret).update(`v0:${timestamp}:${body}`).digest("hex")}`;
}

type Post = {
  eventsUrl: string;
  headers: Record<string, string>;
  body: string;
  answerTimeoutMs: number;
  signal: AbortSignal;
};

async function post({
  eventsUrl,
  headers,
  body,
  answerTimeoutMs,
  signal,
}: Post): Promise<{ status: number | undefined; taken: boolean; noRetry: boolean; text: string }> {
  try {
    const boundedSignal = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]);
    const response = await fetch(eventsUrl, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: boundedSignal,
    });
    const text = await response.text();
    const noRetry = response.headers.get("x-slack-no-retry") === "1";
    return { status: response.status, taken: response.ok, noRetry, text };
  } catch {
    return { status: undefined, taken: false, noRetry: false, text: "" };
  }
}
