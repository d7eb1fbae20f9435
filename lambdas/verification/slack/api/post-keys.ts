/**
 * The keys by which Sekisho recognizes its own posts. Slack stores the key of a post in its metadata
 * (https://docs.slack.dev/messaging/message-metadata), so that a post whose response was lost can be found again.
 */
import * as z from "zod";

/**
 * The kinds of posts, each with the number of its first post in the metadata. The numbers of further posts follow, up to those of the next
 * kind. Version 1.0.0 reads and writes the same numbers, so they never change. Only this file knows them.
 */
const firstNumbers = {
  placeholder: 0,
  /** A part of an agent's answer. Our own refusals and failures in blocks have this kind too: their reference tells them from answers. */
  answer: 1,
  /** A part of an answer in mrkdwn, used after Slack has refused its blocks. */
  mrkdwn_answer: 501,
  /** A text of our own that no agent gets to read: help, and what replaces blocks or an answer that Slack has refused. */
  own_text: 1001,
  /** An agent's question. */
  question: 2001,
  /** The message that opens a thread for a slash command. */
  opening: 3001,
  /** Says that an edit, a deletion or files came too late. */
  late_change: 3501,
  /** The message with the answer's files. Slack posts it without a key, so it is recognized by its files. */
  files: 4001,
  /** A native stream that has not become the answer yet. Slack gives it no key, so it is recognized by its `ts`. */
  stream: 5001,
  /** A message that should be deleted, but that Slack does not delete. */
  replaced: 6001,
} as const;

export type PostKind = keyof typeof firstNumbers;

/** `index` counts the posts of one kind from 0. */
export type PostId = { kind: PostKind; index: number };

/** `destination` is the one whose answer it is. */
export type PostKey = PostId & { requestId: string; destination?: string | undefined };

/** The kinds that show how a task ended. */
export type OutcomeKind = "answer" | "mrkdwn_answer" | "own_text";

/** False for a post without a key. */
export function isOutcome(post: Pick<PostId, "kind"> | undefined): boolean {
  const kind = post?.kind;
  return kind === "answer" || kind === "mrkdwn_answer" || kind === "own_text";
}

export function isSamePost(a: PostId, b: PostId): boolean {
  return a.kind === b.kind && a.index === b.index;
}

const eventType = "sekisho_message";

/** Metadata of another form counts as absent. */
export const metadataSchema = z
  .object({
    event_type: z.literal(eventType),
    event_payload: z.object({
      request_id: z.string(),
      part: z.int().min(0),
      destination: z.string().optional().catch(undefined),
    }),
  })
  .optional()
  .catch(undefined);

export function createMetadata({ requestId, kind, index, destination }: PostKey) {
  const part = firstNumbers[kind] + index;
  return {
    event_type: eventType,
    event_payload: { request_id: requestId, part, ...(destination && { destination }) },
  };
}

export function readPostKey(metadata: z.infer<typeof metadataSchema>): PostKey | undefined {
  if (metadata === undefined) return undefined;
  const { request_id, part, destination } = metadata.event_payload;
  return { requestId: request_id, ...readPostId(part), ...(destination && { destination }) };
}

function readPostId(part: number): PostId {
  let id: PostId = { kind: "placeholder", index: part };
  for (const [kind, first] of Object.entries(firstNumbers) as [PostKind, number][])
    if (part >= first) id = { kind, index: part - first };
  return id;
}
