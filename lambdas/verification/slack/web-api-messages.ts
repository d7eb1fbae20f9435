/** Messages that are there: those of a thread, or those of a channel. */
import { readMessagesPage } from "./messages-page.ts";
import { type PostedMessage, type SlackApi, SlackError } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

/**
 * Messages a page. Where a page is larger than what is read, it is read again with fewer: a message can take half a megabyte.
 * Slack may give fewer than asked for (15 to some apps).
 */
const pageSizes = [200, 50, 10, 1] as const;
/** Also ends a cursor that never does. */
const maxCalls = 50;
const emptyPage = { messages: [] };
const tooLarge = Symbol("too large");

type Asked = Parameters<SlackApi["posts"]>[0];

export function createMessages(call: SlackCall): Pick<SlackApi, "replies" | "posts"> {
  async function readAll({
    method,
    place,
    request: { oldestTs, appId, channel, ...common },
  }: {
    method: string;
    place: { ts?: string };
    request: Asked;
  }): Promise<PostedMessage[]> {
    const args = { channel, ...place, oldest: oldestTs, inclusive: true, include_all_metadata: true };
    const found = new Map<string, PostedMessage>();
    let [size, ...smaller]: readonly (number | undefined)[] = pageSizes;
    let cursor = "";
    for (let calls = 0; calls < maxCalls && size !== undefined; calls++) {
      // A cursor stays valid with another limit.
      const page = { ...args, limit: size, ...(cursor === "" ? {} : { cursor }) };
      // A thread that is gone has no posts.
      const request = { method, args: page, ...common, repeatable: true, fine: ["thread_not_found"] };
      const answer = await call(request).catch(unlessTooLarge);
      if (answer === tooLarge) {
        [size, ...smaller] = smaller;
        continue;
      }
      const { posts, nextCursor } = readMessagesPage({ page: answer ?? emptyPage, appId });
      // Slack puts the thread's first message on every page, however old it is.
      for (const post of posts) if (!isBefore(post.ts, oldestTs)) found.set(post.ts, post);
      cursor = nextCursor;
      if (cursor === "") return [...found.values()].sort((a, b) => (isBefore(a.ts, b.ts) ? -1 : 1));
    }
    // Another try would come to the same.
    throw new SlackError("refused");
  }

  return {
    replies: ({ threadTs, ...request }) =>
      readAll({ method: "conversations.replies", place: { ts: threadTs }, request }),
    posts: (request) => readAll({ method: "conversations.history", place: {}, request }),
  };
}

function unlessTooLarge(thrown: unknown): typeof tooLarge {
  if (thrown instanceof SlackError && thrown.tooLarge) return tooLarge;
  throw thrown;
}

/** Compares Slack's `ts` as numbers: seconds, then microseconds (a double does not hold both). */
function isBefore(a: string, b: string): boolean {
  const [aSeconds = 0, aMicros = 0] = a.split(".").map(Number);
  const [bSeconds = 0, bMicros = 0] = b.split(".").map(Number);
  return aSeconds === bSeconds ? aMicros < bMicros : aSeconds < bSeconds;
}
