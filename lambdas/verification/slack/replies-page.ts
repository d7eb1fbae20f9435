/** One page of `conversations.replies` (https://docs.slack.dev/reference/methods/conversations.replies) as the seam's messages. Pure. */
import * as z from "zod";
import { keyOf, metadataSchema } from "./metadata.ts";
import { type PostedMessage, SlackError } from "./slack.ts";

const appIdSchema = z.string().optional().catch(undefined);

/** Metadata of whatever form is a message's own affair; all else must be as Slack has it. The last page has no cursor. */
const pageSchema = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      text: z.string().catch(""),
      metadata: metadataSchema,
      app_id: appIdSchema,
      bot_profile: z.object({ app_id: appIdSchema }).optional().catch(undefined),
    }),
  ),
  response_metadata: z.object({ next_cursor: z.string().default("") }).default({ next_cursor: "" }),
});

/**
 * Throws where the page is none: to take it for an empty one would mean to post again what is there already. Metadata
 * count only on posts of the app `appId`, since any app may write what it likes into its own.
 */
export function readRepliesPage({ page, appId }: { page: unknown; appId: string }): {
  posts: PostedMessage[];
  nextCursor: string;
} {
  const { data } = pageSchema.safeParse(page);
  if (data === undefined) throw new SlackError("ambiguous");
  const posts = data.messages.map(({ ts, text, metadata, app_id, bot_profile }) => ({
    ts,
    text,
    key: (app_id ?? bot_profile?.app_id) === appId ? keyOf(metadata) : undefined,
  }));
  return { posts, nextCursor: data.response_metadata.next_cursor };
}
