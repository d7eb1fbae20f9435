/** Slack: a channel with threads, whose posts may be late, doubled, or made without anybody hearing of it. */

import { type PostedMessage, type SlackApi, SlackError } from "../../lambdas/verification/slack/slack.ts";
import type { Point } from "./faults.ts";
import { operate, type Times } from "./operate.ts";
import { currentProcess } from "./processes.ts";
import { worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

/** A call is given up after 10 s; a post that timed out lands within 60 s or never. */
const times: Times = { usualMs: 120, giveUpMs: 10_000, landMs: 59_000 };

export type Post = PostedMessage & { threadTs: string; atMs: number };

export type SimSlack = { api: SlackApi; posts: Post[]; gone: () => boolean };

export function createSimSlack({ world }: { world: World }): SimSlack {
  const posts: Post[] = [];
  let count = 0;
  let isGone = false;
  const failures = {
    refused: () => new SlackError(isGone ? "gone" : "unavailable"),
    unknown: () => new SlackError("ambiguous"),
    gone() {
      isGone = true;
      return new SlackError("gone");
    },
  };

  function at<T>(request: { point: Point; note: () => string; signal: AbortSignal; effect: () => T }): Promise<T> {
    const effect = () => {
      if (isGone) throw new SlackError("gone");
      return request.effect();
    };
    return operate({ world, times, failures, ...request, effect });
  }

  function find(ts: string): Post {
    const post = posts.find((candidate) => candidate.ts === ts);
    if (post === undefined) throw new SlackError("no_such_message");
    return post;
  }

  return {
    posts,
    gone: () => isGone,
    api: {
      post: ({ threadTs, text, key, signal }) =>
        at({
          point: "slack.post",
          note: () => `part ${key.part}`,
          signal,
          effect() {
            // What lands late is made by no process.
            const isLate = currentProcess() === undefined;
            const known = posts.find((post) => post.key?.requestId === key.requestId && post.key.part === key.part);
            const isAgain = known !== undefined && known.atMs !== worldMs();
            if (key.part > 0 && isAgain && !isLate) world.doubled.push(`part ${key.part} of ${key.requestId}`);
            count += 1;
            const ts = tsOf({ atMs: worldMs(), count });
            posts.push({ ts, threadTs, text, key, atMs: worldMs() });
            return { ts };
          },
        }),
      update: ({ ts, text, key, signal }) =>
        at({
          point: "slack.update",
          note: () => `part ${key.part} at ${ts}`,
          signal,
          effect: () => void Object.assign(find(ts), { text, key }),
        }),
      remove: ({ ts, signal }) =>
        at({
          point: "slack.remove",
          note: () => ts,
          signal,
          effect: () => void posts.splice(posts.indexOf(find(ts)), 1),
        }),
      react: ({ name, present, signal }) =>
        at({ point: "slack.react", note: () => `${present ? "+" : "-"}${name}`, signal, effect: () => {} }),
      replies: ({ threadTs, oldestTs, signal }) =>
        at({
          point: "slack.replies",
          note: () => threadTs,
          signal,
          effect: () =>
            posts
              .filter((post) => post.threadTs === threadTs && Number(post.ts) >= Number(oldestTs))
              .map(({ ts, text, key }) => ({ ts, text, key })),
        }),
    },
  };
}

/** Slack's own time, which also orders what was written within a millisecond. */
export function tsOf({ atMs, count }: { atMs: number; count: number }): string {
  const seconds = Math.floor(atMs / 1000);
  const millis = String(Math.floor(atMs) % 1000).padStart(3, "0");
  return `${seconds}.${millis}${String(count % 1000).padStart(3, "0")}`;
}
