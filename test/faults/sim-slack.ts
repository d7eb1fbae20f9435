/** Slack: a channel with threads, whose posts may be late, doubled, or made without anybody hearing of it. */

import { isSamePost, type PostKey } from "@sekisho/verification/slack/api/post-keys.ts";
import {
  type MessageContent,
  type PostedMessage,
  type SlackApi,
  type SlackBlock,
  SlackError,
} from "@sekisho/verification/slack/api/slack.ts";
import { buttonsOf } from "./button-clicks.ts";
import type { Point } from "./faults.ts";
import { operate, type Times } from "./operate.ts";
import { currentProcess, type Process } from "./processes.ts";
import { workspace } from "./settings.ts";
import { createSimSlackExtras } from "./sim-slack-extras.ts";
import { refusal, requireContent } from "./slack-limits.ts";
import { chance, worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

/** A call is given up after 10 s; a post that timed out lands within a minute of that or never. */
const times: Times = { usualMs: 120, giveUpMs: 10_000, landMs: 70_000 };
const quietRetryAfterMs = 30_000;
const mostRetryAfterMs = 90_000;

/** Channels in which nobody may post any more. */
const stillPossible: readonly Point[] = ["slack.remove", "slack.replies"];

/** In a thread, or (without `threadTs`) in the channel itself. */
export type Post = PostedMessage & {
  channel: string;
  threadTs: string | undefined;
  blocks: readonly SlackBlock[];
  /** A native stream that is still open. */
  streams: boolean;
  /** A person has stopped the stream by Slack's own button. */
  isStopped?: boolean;
  atMs: number;
  /** It was done after its caller gave up: what lands late is made by no process. */
  isLate: boolean;
};

/** `gone`: nobody can post; `shut`: nor read or remove. */
export type SimSlack = {
  api: SlackApi;
  posts: Post[];
  count: () => number;
  gone: () => boolean;
  shut: () => boolean;
};

/** One call: what it is for, what it does, and what may become of it. */
export type At = <T>(request: {
  point: Point;
  about: () => string;
  detail?: () => string;
  signal: AbortSignal;
  effect: () => T | Promise<T>;
  /** The content to show. */
  content?: MessageContent;
}) => Promise<T>;
export type NewPost = Pick<Post, "channel" | "threadTs" | "key"> & Partial<Post>;

export function createSimSlack({ world }: { world: World }): SimSlack {
  const posts: Post[] = structuredClone([...(world.from?.slack.posts ?? [])]);
  let count = world.from?.slack.count ?? 0;
  let isGone = false;
  let isShut = false;
  /** When each process was last shown a thread. */
  const lastLookMs = new Map<Process, number>();
  /** Blocks that Slack did not take once. */
  const refusedBlocks = new Set<string>();
  const failures = {
    unknown: () => new SlackError("ambiguous"),
    gone() {
      isGone = true;
      isShut = world.isRestless && chance() < 0.5;
      return new SlackError("gone");
    },
    limited: () =>
      new SlackError("rate_limited", {
        retryAfterMs: world.isRestless ? Math.ceil(chance() * mostRetryAfterMs) : quietRetryAfterMs,
      }),
  };

  const at: At = ({ content, ...request }) => {
    const blocks = content?.blocks?.length ? JSON.stringify(content.blocks) : undefined;
    const isOut = () => isShut || (isGone && !stillPossible.includes(request.point));
    const effect = () => {
      if (isOut()) throw new SlackError("gone");
      if (blocks !== undefined && refusedBlocks.has(blocks)) throw refusal("invalid_blocks");
      if (content !== undefined) requireContent(content);
      return request.effect();
    };
    const refusedValue = () => new SlackError(isOut() ? "gone" : "unavailable");
    const blocksRefused = () => {
      refusedBlocks.add(blocks ?? "");
      return refusal("invalid_blocks");
    };
    const all = {
      ...failures,
      refused: refusedValue,
      blocksRefused: blocks === undefined ? undefined : blocksRefused,
    };
    return operate({ world, times, failures: all, ...request, effect });
  };

  function add(post: NewPost): Post {
    count += 1;
    const ts = tsOf({ atMs: worldMs(), count });
    const self = {
      from: "self",
      user: workspace.bot,
      text: "",
      blocks: [],
      fileIds: [],
      streams: false,
      isLate: false,
    } as const;
    const added = { ...self, ...post, ts, atMs: worldMs() };
    posts.push(added);
    return added;
  }

  function find(ts: string): Post {
    const post = posts.find((candidate) => candidate.ts === ts);
    if (post === undefined) throw new SlackError("no_such_message");
    return post;
  }

  function noteQuestion({ kind, requestId }: PostKey): void {
    if (kind !== "question" || world.questionsShownAtMs.has(requestId)) return;
    world.questionsShownAtMs.set(requestId, worldMs());
  }

  function looked<T>(seen: T): T {
    const process = currentProcess();
    if (process !== undefined) lastLookMs.set(process, worldMs());
    return seen;
  }

  /**
   * Whether a part that stands there already did not need to be posted. What lands late, or twice at once, is Slack's doing;
   * nobody can know what landed late since the poster looked.
   */
  function isAvoidable({
    known: cachedValue,
    process,
  }: {
    known: Post;
    process: Process | undefined;
  }): boolean {
    if (process === undefined || cachedValue.atMs === worldMs()) return false;
    return !(
      cachedValue.isLate && cachedValue.atMs > (lastLookMs.get(process) ?? Number.POSITIVE_INFINITY)
    );
  }

  function partName({ kind, index, requestId }: PostKey): string {
    return `${kind} ${index} of ${world.names.of(requestId)}`;
  }

  function nameOf(ts: string): string {
    const post = posts.find((candidate) => candidate.ts === ts);
    if (post === undefined) return world.names.of(ts);
    return post.key === undefined
      ? post.fileIds.length > 0
        ? "files"
        : "stream"
      : partName(post.key);
  }

  /** The messages of people are included. */
  function list(
    isWanted: (post: PostedMessage & { threadTs: string | undefined; channel: string }) => boolean,
  ) {
    const own = posts.map((post) => ({
      ...post,
      ...(buttonsOf(post).length > 0 && { hasButtons: true as const }),
    }));
    return [...world.said, ...own]
      .filter(isWanted)
      .sort((a, b) => Number(a.ts) - Number(b.ts))
      .map(({ ts, text, key, from, user, fileIds, hasButtons }) => {
        return { ts, text, key, from, user, fileIds, ...(hasButtons && { hasButtons }) };
      });
  }

  const api: SlackApi = {
    ...createSimSlackExtras({ world, at, add, find }),
    post: ({ channel, threadTs, content, key, signal }) =>
      at({
        point: "slack.post",
        about: () => partName(key),
        signal,
        content,
        effect() {
          const process = currentProcess();
          const known = posts.find(
            (post) => post.key?.requestId === key.requestId && isSamePost(post.key, key),
          );
          if (
            key.kind !== "placeholder" &&
            known !== undefined &&
            isAvoidable({ known, process })
          ) {
            world.doubled.push(`${key.kind} ${key.index} of ${key.requestId}`);
          }
          noteQuestion(key);
          return {
            ts: add({ channel, threadTs, key, isLate: process === undefined, ...shown(content) })
              .ts,
          };
        },
      }),
    update: ({ ts, content, key, signal }) =>
      at({
        point: "slack.update",
        about: () => partName(key),
        detail: () => `at ${ts}`,
        signal,
        content,
        effect() {
          const post = find(ts);
          if (post.streams) throw new SlackError("unavailable");
          Object.assign(post, { ...shown(content), key });
        },
      }),
    remove: ({ ts, signal }) =>
      at({
        point: "slack.remove",
        about: () => nameOf(ts),
        detail: () => `at ${ts}`,
        signal,
        effect: () => void posts.splice(posts.indexOf(find(ts)), 1),
      }),
    react: ({ ts, name, present, signal }) =>
      at({
        point: "slack.react",
        about: () => `${present ? "+" : "-"}${name} on ${nameOf(ts)}`,
        signal,
        effect: () => {},
      }),
    replies: ({ threadTs, oldestTs, requestId, signal }) =>
      at({
        point: "slack.replies",
        about: () => `thread for ${world.names.of(requestId)}`,
        signal,
        effect: () =>
          looked(
            list(
              (post) =>
                (post.threadTs ?? post.ts) === threadTs && Number(post.ts) >= Number(oldestTs),
            ),
          ),
      }),
    posts: ({ channel, oldestTs, requestId, signal }) =>
      at({
        point: "slack.replies",
        about: () => `channel for ${world.names.of(requestId)}`,
        signal,
        effect: () =>
          looked(
            list(
              (post) =>
                post.channel === channel &&
                post.threadTs === undefined &&
                Number(post.ts) >= Number(oldestTs),
            ),
          ),
      }),
  };
  return { posts, count: () => count, gone: () => isGone, shut: () => isShut, api };
}

function shown({ text, blocks = [] }: MessageContent): Pick<Post, "text" | "blocks"> {
  return { text, blocks };
}

/** Slack's own time, which also orders what was written within a millisecond. */
export function tsOf({ atMs, count }: { atMs: number; count: number }): string {
  const seconds = Math.floor(atMs / 1000);
  const millis = String(Math.floor(atMs) % 1000).padStart(3, "0");
  return `${seconds}.${millis}${String(count % 1000).padStart(3, "0")}`;
}
