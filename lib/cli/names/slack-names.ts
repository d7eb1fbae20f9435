/**
 * Looks up in Slack what operators read beside ids: names of people and channels, and links of threads. They are kept in memory only. A
 * lookup that fails or takes too long gives no name, and never fails the command.
 */
import { createRecentEntries } from "@sekisho/runtime/async/cache.ts";
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import {
  isJsonObject,
  parseUrl,
  sanitizeLine,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";
import type { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { callWebApi, toSlackError } from "@sekisho/verification/slack/api/web-call.ts";

/** `ts` is that of the thread's first message. */
export type Thread = { channel: string; ts: string };

export type Wanted = {
  users?: readonly string[];
  channels?: readonly string[];
  threads?: readonly Thread[];
};

/** By id, and the links by `formatThread`. What is not known is absent. */
export type FoundNames = {
  users: ReadonlyMap<string, string>;
  channels: ReadonlyMap<string, string>;
  links: ReadonlyMap<string, string>;
};

export type SlackNames = {
  /** Never rejects. Resolves in time with what is known by then. */
  find(wantedNames: Wanted): Promise<FoundNames>;
  close(): void;
};

export type SlackConnection = { token: string; apiUrl: string };

type NamesOptions = {
  /** Rejects where there is no token. */
  connect: () => Promise<SlackConnection>;
  /** The longest time for one `find`. */
  waitMs?: number;
  now?: () => number;
};

export function formatThread({ channel, ts }: Thread): string {
  return `${channel}/${ts}`;
}

const maxNameLength = 80;
/** Slack lets a token make about 50 such calls a minute, and short bursts of more. */
const callsAtOnce = 5;
const maxPerFind = 300;
const keepMs = 3600_000;
/** For what Slack does not know, such as a person of another workspace. */
const keepNothingMs = 300_000;
/** After a missing scope, a refused token or a connection that fails. */
const pauseMs = 60_000;

type Lookup = { kind: keyof FoundNames; method: string; key: string; args: Record<string, string> };
type Entry = { value?: string | undefined; untilMs: number };

export function createSlackNames({
  connect,
  waitMs = 3000,
  now = Date.now,
}: NamesOptions): SlackNames {
  const entries = createRecentEntries<Entry>({ maxEntries: 5000 });
  /** Until when a method is not called, by method and kind of id. */
  const pausesByPlace = new Map<string, number>();
  const stop = new AbortController();

  async function look(
    lookup: Lookup,
    connection: SlackConnection,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { kind, method, key, args } = lookup;
    const entry = entries.use(`${kind} ${key}`, () => ({ untilMs: 0 }));
    if (entry.untilMs > now()) return entry.value;
    const places = ["", method, `${method} ${key.slice(0, 1)}`];
    if (signal.aborted || places.some((place) => (pausesByPlace.get(place) ?? 0) > now()))
      return undefined;
    try {
      const { token, apiUrl } = connection;
      const answer = await callWebApi({
        token: async () => token,
        apiUrl,
        method,
        args,
        timeoutMs: waitMs,
        signal,
      });
      entry.value = readers[kind](answer);
      entry.untilMs = now() + (entry.value === undefined ? keepNothingMs : keepMs);
      return entry.value;
    } catch (cause) {
      // A call that was cut off at the end of the time says nothing about Slack.
      if (signal.aborted) return undefined;
      const error = toSlackError(cause);
      if (isUnknown(error)) entry.untilMs = now() + keepNothingMs;
      else pausesByPlace.set(placeOf(error, places), now() + (error.retryAfterMs ?? pauseMs));
      return undefined;
    }
  }

  async function findAll(
    wantedNames: Wanted,
    foundNames: MutableNames,
    signal: AbortSignal,
  ): Promise<void> {
    const lookups = listLookups(wantedNames);
    if (lookups.length === 0) return;
    const connection = await abortable({ promise: connect(), signal });
    const work = async () => {
      for (
        let lookup = lookups.shift();
        lookup !== undefined && !signal.aborted;
        lookup = lookups.shift()
      ) {
        const name = await look(lookup, connection, signal);
        if (name !== undefined) foundNames[lookup.kind].set(lookup.key, name);
      }
    };
    await Promise.all(Array.from({ length: callsAtOnce }, work));
  }

  return {
    async find(wantedNames) {
      const foundNames: MutableNames = { users: new Map(), channels: new Map(), links: new Map() };
      const { signal, end } = createDeadline({ timeoutMs: waitMs, signal: stop.signal });
      // Without a token, and after the time, people read ids.
      await findAll(wantedNames, foundNames, signal).catch(() => {});
      end();
      return foundNames;
    },
    close: () => stop.abort(),
  };
}

type MutableNames = { [Kind in keyof FoundNames]: Map<string, string> };

/** Each once, and no more than a person reads. */
function listLookups({ users = [], channels = [], threads = [] }: Wanted): Lookup[] {
  const lookups: Lookup[] = [
    ...[...new Set(users)].map(
      (key) => ({ kind: "users", method: "users.info", key, args: { user: key } }) as const,
    ),
    ...[...new Set(channels)].map(
      (key) =>
        ({ kind: "channels", method: "conversations.info", key, args: { channel: key } }) as const,
    ),
    ...[...new Map(threads.map((thread) => [formatThread(thread), thread]))].map(
      ([key, { channel, ts }]) =>
        ({
          kind: "links",
          method: "chat.getPermalink",
          key,
          args: { channel, message_ts: ts },
        }) as const,
    ),
  ];
  return lookups.slice(0, maxPerFind);
}

/** True if Slack knows nothing by this id, or shows it to nobody with this token. */
function isUnknown({ slackError }: SlackError): boolean {
  const names = [
    "user_not_found",
    "user_not_visible",
    "channel_not_found",
    "not_in_channel",
    "message_not_found",
  ];
  return slackError !== undefined && names.includes(slackError);
}

/**
 * What to pause after an error. A missing scope concerns one kind of id, as public and private channels have scopes of their own. A refused
 * token and a connection that fails concern every call.
 */
function placeOf(
  { slackError, kind }: SlackError,
  [all = "", method = "", ofKind = ""]: readonly string[],
): string {
  if (slackError === "missing_scope") return ofKind;
  return kind === "gone" || kind === "unavailable" ? all : method;
}

const readers: Record<keyof FoundNames, (answer: Record<string, unknown>) => string | undefined> = {
  users({ user }) {
    const { profile, real_name, name } = isJsonObject(user) ? user : {};
    const { display_name } = isJsonObject(profile) ? profile : {};
    return [display_name, real_name, name].map(toName).find((text) => text !== undefined);
  },
  channels({ channel }) {
    const { name, is_im } = isJsonObject(channel) ? channel : {};
    if (is_im === true) return "direct message";
    const text = toName(name);
    return text && `#${text}`;
  },
  links({ permalink }) {
    const url = typeof permalink === "string" ? parseUrl(permalink) : null;
    return url?.protocol === "https:" ? url.href : undefined;
  },
};

/** People choose names themselves. */
function toName(value: unknown): string | undefined {
  const text = typeof value === "string" ? truncate(sanitizeLine(value).trim(), maxNameLength) : "";
  return text === "" ? undefined : text;
}
