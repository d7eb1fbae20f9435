/** The stand-in's messages, and whoever wants to know when they change. */
import type { StandInBlock } from "./blocks.ts";
import type { StandInFile } from "./files.ts";

/** A message that is written piece by piece; `open` until the bot or Slack itself ends it. */
export type StandInStream = { state: "open" | "closed"; startedAtMs: number };

/** `metadata` is what was posted with it; `reactions` are the bot's. A changed message is a new object. */
export type StandInMessage = {
  channel: string;
  ts: string;
  threadTs: string | undefined;
  user: string;
  text: string;
  metadata: unknown;
  edited: boolean;
  reactions: readonly string[];
  blocks?: readonly StandInBlock[] | undefined;
  files?: readonly StandInFile[] | undefined;
  stream?: StandInStream | undefined;
};

export type Change = { type: "message"; message: StandInMessage } | { type: "removed"; channel: string; ts: string };

/** `lastMicros` is the latest `ts` that was given out, its message removed or not. */
export type Stored = { lastMicros: number; messages: readonly StandInMessage[] };

type Place = { channel: string; ts: string };

export type Messages = {
  add(
    message: Pick<
      StandInMessage,
      "channel" | "threadTs" | "user" | "text" | "metadata" | "blocks" | "files" | "stream"
    >,
  ): StandInMessage;
  find(place: Place): StandInMessage | undefined;
  change(message: StandInMessage, changes: Partial<StandInMessage>): StandInMessage;
  remove(place: Place): void;
  /** The message and its replies, oldest first; none where it does not exist. */
  thread(place: Place): StandInMessage[];
  all(): StandInMessage[];
  /** A `ts` of its own for what is no message. */
  newTs(): string;
  /** What a later `createMessages` goes on from. */
  snapshot(): Stored;
  /** Calls back at each change, until the returned function is called. */
  onChange(listener: (change: Change) => void): () => void;
};

export function createMessages({
  now,
  stored = { lastMicros: 0, messages: [] },
}: {
  now: () => number;
  stored?: Stored | undefined;
}): Messages {
  const byPlace = new Map<string, StandInMessage>();
  /** Which messages each thread has beside its first one, so that reading one does not look at all. */
  const repliesOf = new Map<string, Set<string>>();
  const listeners = new Set<(change: Change) => void>();
  let { lastMicros } = stored;

  /** Slack's `ts`: seconds and microseconds, different for each message and growing. */
  function nextTs(): string {
    lastMicros = Math.max(now() * 1000, lastMicros + 1);
    return `${Math.floor(lastMicros / 1_000_000)}.${String(lastMicros % 1_000_000).padStart(6, "0")}`;
  }

  function keep(message: StandInMessage): void {
    const key = keyOf(message);
    byPlace.set(key, message);
    const { channel, threadTs } = message;
    if (threadTs === undefined) return;
    const thread = keyOf({ channel, ts: threadTs });
    repliesOf.set(thread, (repliesOf.get(thread) ?? new Set()).add(key));
  }

  function put(message: StandInMessage): StandInMessage {
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
