/** All that is known of each message: what Slack shows, what the zones wrote down, how often the agent was started. */
import type { SlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { workspace } from "../../../bin/local/stand-in/workspace.ts";
import { keyOf, metadataSchema } from "../../../lambdas/verification/slack/metadata.ts";
import type { Books } from "./books.ts";
import type { Evidence } from "./checks.ts";
import type { Message } from "./people.ts";

type Post = { requestId: string | undefined; part: number; text: string };

/** `strays` are posts of the bot that belong to no message. */
export async function gather({
  messages,
  standIn,
  books,
}: {
  messages: readonly Message[];
  standIn: SlackStandIn;
  books: Books;
}): Promise<{ evidence: Evidence[]; strays: string[] }> {
  const posts = standIn.messages().flatMap(({ user, metadata, text, ts }): (Post & { ts: string })[] => {
    if (user !== workspace.botUser) return [];
    const key = keyOf(metadataSchema.parse(metadata));
    return [{ requestId: key?.requestId, part: key?.part ?? -1, text, ts }];
  });
  const starts = books.starts();
  const evidence = messages.map(async ({ requestId, kind, delivered }): Promise<Evidence> => {
    const { status } = await delivered;
    return {
      requestId,
      kind,
      isTaken: status === 200,
      posts: posts.filter((post) => post.requestId === requestId),
      starts: starts.filter((id) => id === requestId).length,
      record: await books.record(requestId),
      hostTask: await books.hostTask(requestId),
    };
  });
  const known = new Set(messages.map(({ requestId }) => requestId));
  const strays = posts.filter(({ requestId }) => requestId === undefined || !known.has(requestId));
  return {
    evidence: await Promise.all(evidence),
    strays: strays.map(({ ts }) => `The post ${ts} of the bot belongs to no message.`),
  };
}
