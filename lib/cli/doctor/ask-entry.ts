/** Three requests to the entry for Slack's events: one as Slack signs it, one too old, one unsigned. None makes a task. */
import { randomUUID } from "node:crypto";
import { readResponseBody } from "../../../lambdas/shared/http/read-body.ts";
import { signedHeaders } from "../../local/signed-events.ts";
import { readSkewMs } from "./ask-slack.ts";

export type EntryAnswer = { status: number; body: string; skewMs: number | undefined };

const timeoutMs = 5000;
const maxAnswerBytes = 64 * 1024;
/** Twice what is let pass. */
const staleMs = 600_000;

export type AskEntry = {
  url: string;
  signal: AbortSignal;
  now?: () => number;
};

/** `challenge` is what a right answer holds. Resolves to undefined where nothing answers. */
export async function askSigned({
  signingSecret,
  challenge,
  now = Date.now,
  ...entry
}: AskEntry & { signingSecret: string; challenge: string }): Promise<EntryAnswer | undefined> {
  const body = verification(challenge);
  return post({ ...entry, now, body, headers: signedHeaders({ signingSecret, body, contentType, now }) });
}

export async function askStale({
  signingSecret,
  now = Date.now,
  ...entry
}: AskEntry & { signingSecret: string }): Promise<EntryAnswer | undefined> {
  const body = verification(randomUUID());
  const headers = signedHeaders({ signingSecret, body, contentType, now: () => now() - staleMs });
  return post({ ...entry, now, body, headers });
}

export async function askUnsigned({ now = Date.now, ...entry }: AskEntry): Promise<EntryAnswer | undefined> {
  return post({ ...entry, now, body: verification(randomUUID()), headers: { "content-type": contentType } });
}

const contentType = "application/json";

/** https://docs.slack.dev/reference/events/url_verification: the entry answers it by itself. */
function verification(challenge: string): string {
  return JSON.stringify({ type: "url_verification", challenge });
}

async function post({
  url,
  body,
  headers,
  signal,
  now,
}: Required<AskEntry> & { body: string; headers: Record<string, string> }): Promise<EntryAnswer | undefined> {
  const sentAtMs = now();
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: bounded });
    const skewMs = readSkewMs({ date: response.headers.get("date"), sentAtMs, receivedAtMs: now() });
    const bytes = await readResponseBody({ response, maxBytes: maxAnswerBytes });
    if (bytes === "too_large") return undefined;
    return { status: response.status, body: new TextDecoder().decode(bytes), skewMs };
  } catch {
    return undefined;
  }
}
