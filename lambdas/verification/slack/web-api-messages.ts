/** Messages that are there: those of a thread, or those of a channel. */
import { readMessagesPage } from "./messages-page.ts";
import { type PostedMessage, type SlackApi, SlackError } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

const pageSize = 200;
/** Ten thousand messages; a cursor that never ends is a fault of the other side. */
const maxPages = 50;
const emptyPage = { messages: [] };

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
    const args = { channel, ...place, oldest: oldestTs, inclusive: true, include_all_metadata: true, limit: pageSize };
    const found = new Map<string, PostedMessage>();
    let cursor = "";
    for (let page = 0; page < maxPages; page++) {
      const answer = await call({
        method,
        args: { ...args, ...(cursor === "" ? {} : { cursor }) },
        ...common,
        repeatable: true,
        // A thread that is gone has no posts.
        fine: ["thread_not_found"],
      });
      const { posts, nextCursor } = readMessagesPage({ page: answer ?? emptyPage, appId });
      // Slack puts the thread's first message on every page, however old it is.
      for (const post of posts) if (!isBefore(post.ts, oldestTs)) found.set(post.ts, post);
      cursor = nextCursor;
      if (cursor === "") return [...found.values()].sort((a, b) => (isBefore(a.ts, b.ts) ? -1 : 1));
    }
    throw new SlackError("ambiguous");
  }

  return {
    replies: ({ threadTs, ...request }) =>
      readAll({ method: "conversations.replies", place: { ts: threadTs }, request }),
    posts: (request) => readAll({ method: "conversations.history", place: {}, request }),
  };
}

/** Compares Slack's `ts` as numbers: seconds, then microseconds (a double does not hold both). */
function isBefore(a: string, b: string): boolean {
  const [aSeconds = 0, aMicros = 0] = a.split(".").map(Number);
  const [bSeconds = 0, bMicros = 0] = b.split(".").map(Number);
  return aSeconds === bSeconds ? aMicros < bMicros : aSeconds < bSeconds;
}
