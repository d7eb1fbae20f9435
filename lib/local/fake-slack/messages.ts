/** The fake Slack's messages, and whoever wants to know when they change. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import type { FakeSlackBlock } from "./blocks.ts";
import { type FakeSlackFile, fileSchema } from "./files.ts";

/** A message that is written piece by piece; `open` until the bot or Slack itself ends it. */
export type FakeSlackStream = { state: "open" | "closed"; startedAtMs: number };

/** `metadata` is what was posted with it; `reactions` are the bot's. A changed message is a new object. */
export type FakeSlackMessage = {
  channel: string;
  ts: string;
  threadTs: string | undefined;
  user: string;
  text: string;
  metadata: unknown;
  edited: boolean;
  reactions: readonly string[];
  blocks?: readonly FakeSlackBlock[] | undefined;
  files?: readonly FakeSlackFile[] | undefined;
  stream?: FakeSlackStream | undefined;
  /** A call let Slack add previews of the addresses in it. */
  unfurls?: true | undefined;
};

export type MessageChange =
  | { type: "message"; message: FakeSlackMessage }
  | { type: "removed"; channel: string; ts: string };

/** `lastMicros` is the latest `ts` that was given out, its message removed or not. */
export type StoredMessages = { lastMicros: number; messages: readonly FakeSlackMessage[] };

type Place = { channel: string; ts: string };

export type FakeSlackMessages = {
  add(
    message: Pick<
      FakeSlackMessage,
      "channel" | "threadTs" | "user" | "text" | "metadata" | "blocks" | "files" | "stream" | "unfurls"
    >,
  ): FakeSlackMessage;
  find(place: Place): FakeSlackMessage | undefined;
  change(message: FakeSlackMessage, changes: Partial<FakeSlackMessage>): FakeSlackMessage;
  remove(place: Place): void;
  /** The message and its replies, oldest first; none where it does not exist. */
  thread(place: Place): FakeSlackMessage[];
  all(): FakeSlackMessage[];
  /** A `ts` of its own for what is no message. */
  newTs(): string;
  /** What a later `createFakeSlackMessages` goes on from. */
  snapshot(): StoredMessages;
  /** Calls back at each change, until the returned function is called. */
  onChange(listener: (change: MessageChange) => void): () => void;
};

export function createFakeSlackMessages({
  now,
  stored = { lastMicros: 0, messages: [] },
}: {
  now: () => number;
  stored?: StoredMessages | undefined;
}): FakeSlackMessages {
  const byPlace = new Map<string, FakeSlackMessage>();
  /** Which messages each thread has beside its first one, so that reading one does not look at all. */
  const repliesOf = new Map<string, Set<string>>();
  const listeners = new Set<(change: MessageChange) => void>();
  let { lastMicros } = stored;

  /** Slack's `ts`: seconds and microseconds, different for each message and growing. */
  function nextTs(): string {
    lastMicros = Math.max(now() * 1000, lastMicros + 1);
    return `${Math.floor(lastMicros / 1_000_000)}.${String(lastMicros % 1_000_000).padStart(6, "0")}`;
  }

  function keep(message: FakeSlackMessage): void {
    const key = keyOf(message);
    byPlace.set(key, message);
    const { channel, threadTs } = message;
    if (threadTs === undefined) return;
    const thread = keyOf({ channel, ts: threadTs });
    repliesOf.set(thread, (repliesOf.get(thread) ?? new Set()).add(key));
  }

  function put(message: FakeSlackMessage): FakeSlackMessage {
    keep(message);
    for (const listener of listeners) listener({ type: "message", message });
    return message;
  }

  for (const message of stored.messages) keep(message);

  return {
    add: (message) => put({ ...message, ts: nextTs(), edited: false, reactions: [] }),
    find: (place) => byPlace.get(keyOf(place)),
    change: (message, changes) => put({ ...message, ...changes }),
    remove({ channel, ts }) {
      const key = keyOf({ channel, ts });
      const threadTs = byPlace.get(key)?.threadTs;
      if (threadTs !== undefined) repliesOf.get(keyOf({ channel, ts: threadTs }))?.delete(key);
      byPlace.delete(key);
      for (const listener of listeners) listener({ type: "removed", channel, ts });
    },
    thread(place) {
      const key = keyOf(place);
      return [key, ...(repliesOf.get(key) ?? [])].flatMap((each) => byPlace.get(each) ?? []);
    },
    all: () => [...byPlace.values()],
    newTs: nextTs,
    snapshot: () => ({ lastMicros, messages: [...byPlace.values()] }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function keyOf({ channel, ts }: Place): string {
  return `${channel}/${ts}`;
}

// Keeps the fake Slack's messages in a file, so that threads outlive the process, as they do in Slack.

const storedSchema = z.object({
  lastMicros: z.int().nonnegative(),
  messages: z.array(
    z.object({
      channel: z.string(),
      ts: z.string(),
      threadTs: z.string().optional(),
      user: z.string(),
      text: z.string(),
      metadata: z.unknown().optional(),
      edited: z.boolean(),
      reactions: z.array(z.string()),
      blocks: z.array(z.looseObject({ type: z.string() })).optional(),
      files: z.array(fileSchema).optional(),
      stream: z.object({ state: z.enum(["open", "closed"]), startedAtMs: z.number() }).optional(),
      unfurls: z.literal(true).optional(),
    }),
  ),
});

/** The latest that are kept: the whole file is written at each change. */
const maxMessages = 1000;

/** Undefined where there is no file yet. Throws, with what to do, for a file that holds something else. */
export function readStoredMessages({ file }: { file: string }): StoredMessages | undefined {
  try {
    const { lastMicros, messages } = storedSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    return {
      lastMicros,
      messages: messages.map((message) => ({ threadTs: undefined, metadata: undefined, ...message })),
    };
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    throw new Error(`The fake Slack's messages in ${file} cannot be read. Delete the file to start without them.`, {
      cause,
    });
  }
}

/**
 * Writes at each change, before the call that made it is answered: what Slack has confirmed survives kill -9. The file is
 * replaced as a whole, and private to the user. `onFailure` gets the error's code where it cannot be written.
 */
export function persistMessages({
  messages,
  file,
  onFailure,
}: {
  messages: FakeSlackMessages;
  file: string;
  onFailure: (code: string) => void;
}): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.next`;
  messages.onChange(() => {
    const { lastMicros, messages: all } = messages.snapshot();
    try {
      writeFileSync(next, JSON.stringify({ lastMicros, messages: all.slice(-maxMessages) }), { mode: 0o600 });
      renameSync(next, file);
    } catch (error) {
      onFailure(codeOf(error) ?? "unknown");
    }
  });
}

function codeOf(error: unknown): string | undefined {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}
