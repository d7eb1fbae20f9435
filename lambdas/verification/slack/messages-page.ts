/** One page of messages, of a thread or of a channel (https://docs.slack.dev/reference/methods/conversations.replies), as the seam's. Pure. */
import * as z from "zod";
import { keyOf, metadataSchema } from "./metadata.ts";
import { type PostedMessage, SlackError } from "./slack.ts";

const idSchema = z.string().optional().catch(undefined);

/** What a message says of itself is its own affair, of whatever form; all else must be as Slack has it. The last page has no cursor. */
const messageSchema = z.object({
  ts: z.string(),
  text: z.string().catch(""),
  metadata: metadataSchema,
  user: idSchema,
  app_id: idSchema,
  bot_id: idSchema,
  subtype: idSchema,
  bot_profile: z.object({ app_id: idSchema }).optional().catch(undefined),
  files: z.array(z.object({ id: idSchema }).catch({ id: undefined })).catch([]),
  blocks: z.array(z.object({ type: z.string() }).catch({ type: "" })).catch([]),
});
type Message = z.infer<typeof messageSchema>;

const pageSchema = z.object({
  messages: z.array(messageSchema),
  response_metadata: z.object({ next_cursor: z.string().default("") }).default({ next_cursor: "" }),
});

/**
 * Throws where the page is none: to take it for an empty one would mean to post again what is there already. Metadata
 * count only on posts of the app `appId`, since any app may write what it likes into its own.
 */
export function readMessagesPage({ page, appId }: { page: unknown; appId: string }): {
  posts: PostedMessage[];
  nextCursor: string;
} {
  const { data } = pageSchema.safeParse(page);
  if (data === undefined) throw new SlackError("ambiguous");
  const posts = data.messages.map((message) => {
    const from = writerOf({ message, appId });
    return {
      ts: message.ts,
      text: message.text,
      key: from === "self" ? keyOf(message.metadata) : undefined,
      from,
      user: message.user,
      fileIds: message.files.flatMap(({ id }) => id ?? []),
      ...(message.blocks.some(({ type }) => type === "actions") && { hasButtons: true as const }),
    };
  });
  return { posts, nextCursor: data.response_metadata.next_cursor };
}

/** A person's message may name an app too, through which it was written: only a bot has a bot's marks. */
function writerOf({ message, appId }: { message: Message; appId: string }): PostedMessage["from"] {
  const { app_id, bot_id, bot_profile, subtype } = message;
  if ((app_id ?? bot_profile?.app_id) === appId) return "self";
  return bot_id !== undefined || bot_profile !== undefined || subtype === "bot_message" ? "other_bot" : "person";
}
