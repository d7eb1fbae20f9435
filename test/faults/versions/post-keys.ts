/** The keys of posts in the form of version 1.0.0: with the number that the metadata holds, and without a kind. */
import {
  createMetadata,
  metadataSchema,
  type PostKey,
  readPostKey,
} from "@sekisho/verification/slack/api/post-keys.ts";

type NumberedKey = { requestId: string; part: number; destination?: string | undefined };

/** Returns a key of this version as it is. */
export function readKey(key: PostKey | NumberedKey): PostKey {
  if ("kind" in key) return key;
  const { requestId, part, destination } = key;
  const { event_type } = createMetadata({ requestId, kind: "placeholder", index: 0 });
  const event_payload = { request_id: requestId, part, destination };
  const read = readPostKey(metadataSchema.parse({ event_type, event_payload }));
  if (read === undefined) throw new Error(`${part} is no number of a post.`);
  return read;
}

/** Returns the key for either version. */
export function addNumber(key: PostKey): PostKey & NumberedKey {
  return { ...key, part: createMetadata(key).event_payload.part };
}
