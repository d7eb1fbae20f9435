/** The Slack seam over the real Web API (https://docs.slack.dev/reference/methods), or whatever speaks like it at `apiUrl`. */
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { isLoopbackHost } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import { metadataOf } from "./metadata.ts";
import { readRepliesPage } from "./replies-page.ts";
import { retryDelayMs } from "./retry-policy.ts";
import { withRotation } from "./rotation.ts";
import { type PostedMessage, type PostKey, type SlackApi, SlackError } from "./slack.ts";
import { toSlackError } from "./to-slack-error.ts";
import { callWebApi } from "./web-api-call.ts";

type Call = {
  method: string;
  args: Record<string, unknown>;
  signal: AbortSignal;
  requestId: string;
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  /** Slack's errors that say that it is done already. */
  fine?: readonly string[];
};

const pageSize = 200;
/** Ten thousand messages; a cursor that never ends is a fault of the other side. */
const maxPages = 50;
const emptyPage = { messages: [] };

const postedSchema = z.object({ ts: z.string() });
/**
 * `token` is asked for at every call, so that a rotated one is used; where Slack does not take it, `newerToken` may know
 * another, and the call is made once more. `timeoutMs` bounds one exchange, and each wait before
 * it is repeated; the caller's signal bounds the whole. `apiUrl` is https, or http on loopback.
 */
export function createSlackApi({
  token,
  newerToken = async () => undefined,
  apiUrl = "https://slack.com/api/",
  log,
  now = Date.now,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
  random = Math.random,
  timeoutMs = 10_000,
}: {
  token: () => Promise<string>;
  newerToken?: (tried: string) => Promise<string | undefined>;
  apiUrl?: string;
  log: Log;
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  timeoutMs?: number;
}): SlackApi {
  requireSafeUrl(apiUrl);

  async function call({ method, args, signal, repeatable, requestId, fine = [] }: Call): Promise<unknown> {
    const withToken = (read: () => Promise<string>) =>
      callWebApi({ token: read, apiUrl, method, args, timeoutMs, signal });
    for (let attempt = 0; ; attempt++) {
      const startedAtMs = now();
      try {
        return await withRotation({ token, newerToken, use: withToken });
      } catch (thrown) {
        const error = toSlackError(thrown);
        const { kind, slackError } = error;
        if (slackError !== undefined && fine.includes(slackError)) return undefined;
        const delayMs = retryDelayMs({ error, attempt, repeatable, maxDelayMs: timeoutMs, random });
        const fields = { reason: kind, slack_error: slackError, attempt, delay_ms: delayMs };
        log.warn("slack_call_failed", { request_id: requestId, method, ...fields, duration_ms: now() - startedAtMs });
        if (delayMs === undefined) throw error;
        await sleep(delayMs, signal).catch(() => {});
        if (signal.aborted) throw error;
      }
    }
  }

  async function replies(request: Parameters<SlackApi["replies"]>[0]) {
    const { channel, threadTs, oldestTs, appId, requestId, signal } = request;
    const found = new Map<string, PostedMessage>();
    let cursor = "";
    for (let page = 0; page < maxPages; page++) {
      const args = { channel, ts: threadTs, oldest: oldestTs, inclusive: true, include_all_metadata: true };
      const answer = await call({
        method: "conversations.replies",
        args: { ...args, limit: pageSize, ...(cursor === "" ? {} : { cursor }) },
        signal,
        requestId,
        repeatable: true,
        // A thread that is gone has no posts.
        fine: ["thread_not_found"],
      });
      const { posts, nextCursor } = readRepliesPage({ page: answer ?? emptyPage, appId });
      // Slack puts the thread's first message on every page, however old it is.
      for (const post of posts) if (!isBefore(post.ts, oldestTs)) found.set(post.ts, post);
      cursor = nextCursor;
      if (cursor === "") return [...found.values()].sort((a, b) => (isBefore(a.ts, b.ts) ? -1 : 1));
    }
    throw new SlackError("ambiguous");
  }

  return {
    async post({ channel, threadTs, text, key, signal }) {
      const args = {
        channel,
        thread_ts: threadTs,
        ...content({ text, key }),
        unfurl_links: false,
        unfurl_media: false,
      };
      const answer = await call({
        method: "chat.postMessage",
        args,
        signal,
        repeatable: false,
        requestId: key.requestId,
      });
      const posted = postedSchema.safeParse(answer).data;
      if (posted === undefined) throw new SlackError("ambiguous");
      return { ts: posted.ts };
    },
    async update({ channel, ts, text, key, signal }) {
      const args = { channel, ts, ...content({ text, key }) };
      await call({ method: "chat.update", args, signal, repeatable: true, requestId: key.requestId });
    },
    async remove({ channel, ts, requestId, signal }) {
      await call({ method: "chat.delete", args: { channel, ts }, signal, requestId, repeatable: true });
    },
    async react({ channel, ts, name, present, requestId, signal }) {
      const method = present ? "reactions.add" : "reactions.remove";
      const fine = [present ? "already_reacted" : "no_reaction"];
      await call({ method, args: { channel, timestamp: ts, name }, signal, requestId, repeatable: true, fine });
    },
    replies,
  };
}

/** Names in the text (`@channel`) stay text. */
function content({ text, key }: { text: string; key: PostKey }) {
  return { text, link_names: false, metadata: metadataOf(key) };
}

/** Compares Slack's `ts` as numbers: seconds, then microseconds (a double does not hold both). */
function isBefore(a: string, b: string): boolean {
  const [aSeconds = 0, aMicros = 0] = a.split(".").map(Number);
  const [bSeconds = 0, bMicros = 0] = b.split(".").map(Number);
  return aSeconds === bSeconds ? aMicros < bMicros : aSeconds < bSeconds;
}

function requireSafeUrl(apiUrl: string): void {
  const url = URL.parse(apiUrl);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname))) return;
  throw new Error("The Slack API URL must be https (http only on loopback).");
}
