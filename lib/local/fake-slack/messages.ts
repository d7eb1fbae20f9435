/** The fake Slack's messages, and the file that keeps them. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import { createListeners } from "../listeners.ts";
import { fileSchema } from "./files.ts";

const messageSchema = z.object({
  channel: z.string(),
  ts: z.string(),
  threadTs: z.string().optional(),
  user: z.string(),
  /** Another app posted it with the person's own token. */
  isThroughApp: z.literal(true).optional(),
  text: z.string(),
  metadata: z.unknown().optional(),
  edited: z.boolean(),
  /** Slack keeps the place of a deleted message that has replies. */
  isDeleted: z.literal(true).optional(),
  /** The bot's reactions. */
  reactions: z.array(z.string()).readonly(),
  blocks: z
    .array(z.looseObject({ type: z.string() }))
    .readonly()
    .optional(),
  /** Content that an app wrote there, or a message that a person forwards. */
  attachments: z.array(z.looseObject({})).readonly().optional(),
  /** Copies of the messages that a person forwards with it. */
  get forwards() {
    return z.array(messageSchema).readonly().optional();
  },
  files: z.array(fileSchema).readonly().optional(),
  /** A message that is written piece by piece. `open` until the bot, Slack or a person ends it. */
  stream: z
    .object({ state: z.enum(["open", "closed", "stopped_by_user"]), startedAtMs: z.number() })
    .optional(),
  /** The vote of each person, as Slack shows it to them alone. */
  votes: z.record(z.string(), z.string()).optional(),
  /** A call let Slack add previews of the text's links. */
  unfurls: z.literal(true).optional(),
});
/** A changed message is a new object. */
export type FakeSlackMessage = z.infer<typeof messageSchema>;

export type MessageChange =
  | { type: "message"; message: FakeSlackMessage }
  | { type: "removed"; channel: string; ts: string };

/** `lastMicros` is the latest `ts` ever used, so that no `ts` is used twice, even after its message is removed. */
const storedSchema = z.object({
  lastMicros: z.int().nonnegative(),
  messages: z.array(messageSchema),
});
type StoredMessages = z.infer<typeof storedSchema>;

type MessageReference = { channel: string; ts: string };
const keyOf = ({ channel, ts }: MessageReference) => `${channel}/${ts}`;

export type FakeSlackMessages = ReturnType<typeof createFakeSlackMessages>;

type MessagesOptions = {
  now: () => number;
  stored?: StoredMessages | undefined;
  save?: (all: StoredMessages) => void;
};

/** `save` gets all messages at each change, for a later `stored`. */
export function createFakeSlackMessages({
  now,
  stored = { lastMicros: 0, messages: [] },
  save,
}: MessagesOptions) {
  const byReference = new Map<string, FakeSlackMessage>();
  /** The keys of each thread's replies. Without it, each read of a thread would scan all messages. */
  const repliesOf = new Map<string, Set<string>>();
  const changes = createListeners<MessageChange>();
  let { lastMicros } = stored;
  for (const message of stored.messages) put(message);
  const all = () => [...byReference.values()];

  /** Slack's `ts`: seconds and microseconds, unique and increasing. */
  function newTs(): string {
    lastMicros = Math.max(now() * 1000, lastMicros + 1);
    return `${Math.floor(lastMicros / 1_000_000)}.${String(lastMicros % 1_000_000).padStart(6, "0")}`;
  }

  function put(message: FakeSlackMessage): void {
    const key = keyOf(message);
    byReference.set(key, message);
    const { channel, threadTs } = message;
    if (threadTs === undefined) return;
    const thread = keyOf({ channel, ts: threadTs });
    repliesOf.set(thread, (repliesOf.get(thread) ?? new Set()).add(key));
  }

  function notify(change: MessageChange): void {
    save?.({ lastMicros, messages: all() });
    changes.notify(change);
  }

  function change(message: FakeSlackMessage, by: Partial<FakeSlackMessage>): FakeSlackMessage {
    const changedMessage = { ...message, ...by };
    put(changedMessage);
    notify({ type: "message", message: changedMessage });
    return changedMessage;
  }

  return {
    add: (message: Omit<FakeSlackMessage, "ts" | "edited" | "reactions">) =>
      change({ ...message, ts: newTs(), edited: false, reactions: [] }, {}),
    find: (reference: MessageReference) => byReference.get(keyOf(reference)),
    change,
    remove({ channel, ts }: MessageReference): void {
      const key = keyOf({ channel, ts });
      const threadTs = byReference.get(key)?.threadTs;
      if (threadTs !== undefined) repliesOf.get(keyOf({ channel, ts: threadTs }))?.delete(key);
      byReference.delete(key);
      notify({ type: "removed", channel, ts });
    },
    /** The message and its replies, oldest first. Empty if there is no such message. */
    thread(reference: MessageReference): FakeSlackMessage[] {
      const key = keyOf(reference);
      return [key, ...(repliesOf.get(key) ?? [])].flatMap((each) => byReference.get(each) ?? []);
    },
    all,
    newTs,
    onChange: changes.add,
  };
}

/** The file holds the latest messages only, since each change writes all of it. */
const maxMessages = 1000;

/**
 * Keeps messages in a file, so that threads outlive the process, as in Slack. `save` returns before the call that changed a
 * message is answered: what Slack has confirmed survives kill -9. The file is private to the user. `onFailure` gets the
 * error code if it cannot be written. Throws for a file with other content.
 */
export function openMessageFile(file: string, onFailure: (code: string) => void) {
  const stored = readMessages(file);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return {
    stored,
    save({ lastMicros, messages }: StoredMessages): void {
      try {
        const next = `${file}.next`;
        writeFileSync(
          next,
          JSON.stringify({ lastMicros, messages: messages.slice(-maxMessages) }),
          { mode: 0o600 },
        );
        // A reader, or the next start after kill -9, finds the old content or the new content.
        renameSync(next, file);
      } catch (error) {
        onFailure(String(Object(error).code ?? "unknown"));
      }
    },
  };
}

function readMessages(file: string): StoredMessages | undefined {
  try {
    return storedSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    if (Object(cause).code === "ENOENT") return undefined;
    const remedy = "Delete the file to start without them.";
    throw new Error(`The fake Slack's messages in ${file} cannot be read. ${remedy}`, { cause });
  }
}
