/** The message metadata that every post carries (https://docs.slack.dev/messaging/message-metadata): which part of which task it is. */
import * as z from "zod";
import type { PostKey } from "./slack.ts";

const eventType = "sekisho_message";

/** Anything else, of whatever app, is no metadata of ours. */
export const metadataSchema = z
  .object({
    event_type: z.literal(eventType),
    event_payload: z.object({ request_id: z.string(), part: z.int().min(0) }),
  })
  .optional()
  .catch(undefined);

export function metadataOf({ requestId, part }: PostKey) {
  return { event_type: eventType, event_payload: { request_id: requestId, part } };
}

export function keyOf(metadata: z.infer<typeof metadataSchema>): PostKey | undefined {
  if (metadata === undefined) return undefined;
  const { request_id, part } = metadata.event_payload;
  return { requestId: request_id, part };
}
