/** Looks up names, addresses, channels and members in Slack for what the agent gets to know. Every failure means less, never a failed task. */

import {
  type CachedValues,
  createCachedValues,
  createRecentEntries,
  type Loaded,
} from "@sekisho/runtime/async/cache.ts";
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import { type ChannelNotes, type SlackApi, SlackError } from "../slack/api/slack.ts";
import type { Installation } from "../task/messages.ts";

export type LookupSlack = Pick<
  SlackApi,
  "person" | "groupHandles" | "channelInfo" | "channelMembers"
>;
export type LookedUpChannel = { hasBot: boolean } & ChannelNotes;

/** The lookups of one task, which share their time and the number of their calls. Each resolves to undefined if Slack does not say. */
export type TaskLookups = {
  personName(user: string): Promise<string | undefined>;
  /** The confirmed e-mail address of a full member of the installation's workspace or organization. */
  personEmail(person: { user: string; userTeam: string | undefined }): Promise<string | undefined>;
  groupHandle(group: string): Promise<string | undefined>;
  channel(channel: string): Promise<LookedUpChannel | undefined>;
  /** True if Slack says so. */
  isMember(request: { channel: string; user: string }): Promise<boolean>;
  /** Stops the timer. */
  end(): void;
};

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Beyond this time a task is sent with ids. */
const defaultMaxWaitMs = 1500;
/** Calls to Slack for one task. Cached values cost none. */
const maxCalls = 10;

type Kind = "people" | "groups" | "channels" | "members";

/**
 * Caches per process. Slack is asked about a channel, its members, the groups or an address at most once an hour, about a name at most once in six hours, and
 * not again for an hour where a scope is missing. Where Slack is slow or limits the calls, nothing of that kind is looked up for a minute.
 */
export function createSlackLookups(options: {
  slack: LookupSlack;
  now: () => number;
  maxWaitMs?: number;
}) {
  const { slack, now, maxWaitMs = defaultMaxWaitMs } = options;
  const people = createCachedValues<string | undefined>({ now, maxEntries: 5000 });
  const emails = createCachedValues<string | undefined>({ now, maxEntries: 5000 });
  const groups = createCachedValues<ReadonlyMap<string, string> | undefined>({
    now,
    maxEntries: 100,
  });
  const channels = createCachedValues<LookedUpChannel | undefined>({ now, maxEntries: 1000 });
  const members = createCachedValues<ReadonlySet<string> | undefined>({ now, maxEntries: 50 });
  const pauses = createRecentEntries<{ untilMs: number }>({ maxEntries: 1000 });

  return (task: {
    installation: Installation;
    requestId: string;
    signal: AbortSignal;
  }): TaskLookups => {
    const { installation, requestId } = task;
    const { team, enterprise = "" } = installation;
    const { signal, end } = createDeadline({ timeoutMs: maxWaitMs, signal: task.signal });
    let calls = 0;

    async function lookUp<T>(request: {
      kind: Kind;
      id: string;
      cache: CachedValues<T | undefined>;
      keepMs: number;
      read: (common: {
        installation: Installation;
        requestId: string;
        signal: AbortSignal;
      }) => Promise<T>;
    }): Promise<T | undefined> {
      const { kind, id, cache, keepMs } = request;
      const pause = pauses.use(JSON.stringify([enterprise, team, kind]), () => ({ untilMs: 0 }));
      async function readAnswer(reading: AbortSignal): Promise<Loaded<T | undefined>> {
        if (now() < pause.untilMs || calls >= maxCalls) throw new SlackError("unavailable");
        calls += 1;
        try {
          return {
            value: await request.read({ installation, requestId, signal: reading }),
            keepMs,
          };
        } catch (error) {
          if (reading.aborted || !(error instanceof SlackError)) throw error;
          pause.untilMs = Math.max(pause.untilMs, now() + pauseMsOf(error));
          // What Slack does not show now, it will not show soon.
          if (isFinal(error)) return { value: undefined, keepMs: hourMs };
          throw error;
        }
      }
      try {
        return await cache.get({
          key: JSON.stringify([enterprise, team, id]),
          signal,
          read: readAnswer,
        });
      } catch (error) {
        if (signal.aborted && !task.signal.aborted)
          pause.untilMs = Math.max(pause.untilMs, now() + minuteMs);
        if (signal.aborted || error instanceof SlackError) return undefined;
        throw error;
      }
    }

    return {
      personName: (user) =>
        lookUp({
          ...{ kind: "people", id: user, cache: people, keepMs: 6 * hourMs },
          read: async (common) => (await slack.person({ ...common, user })).name,
        }),
      personEmail: ({ user, userTeam }) =>
        lookUp({
          ...{ kind: "people", cache: emails, keepMs: hourMs },
          id: JSON.stringify([user, userTeam]),
          read: (common) => readEmail({ ...common, slack, user, userTeam }),
        }),
      async groupHandle(group) {
        const handles = await lookUp({
          ...{ kind: "groups", id: "", cache: groups, keepMs: hourMs },
          read: (common) => slack.groupHandles(common),
        });
        return handles?.get(group);
      },
      channel: (channel) =>
        lookUp({
          ...{ kind: "channels", id: channel, cache: channels, keepMs: hourMs },
          read: (common) => readChannel({ ...common, slack, channel }),
        }),
      async isMember({ channel, user }) {
        const users = await lookUp({
          ...{ kind: "members", id: channel, cache: members, keepMs: hourMs },
          read: async (common) => new Set(await slack.channelMembers({ ...common, channel })),
        });
        return users?.has(user) === true;
      },
      end,
    };
  };
}

type SlackCall = {
  slack: LookupSlack;
  installation: Installation;
  requestId: string;
  signal: AbortSignal;
};

async function readChannel({
  slack,
  ...call
}: SlackCall & { channel: string }): Promise<LookedUpChannel> {
  const { hasBot, kind = "private", name, topic } = await slack.channelInfo(call);
  return { hasBot, kind, name, topic };
}

async function readEmail({
  slack,
  userTeam,
  ...call
}: SlackCall & { user: string; userTeam: string | undefined }): Promise<string | undefined> {
  const { email, ...profile } = await slack.person(call);
  const { installation } = call;
  return isMember({ profile, installation, userTeam }) ? email : undefined;
}

/** A person whose workspace, as Slack names it with the message, is not in the profile is not believed to be a member. */
function isMember(request: {
  profile: { workspaces: readonly string[]; organization: string | undefined };
  installation: Installation;
  userTeam: string | undefined;
}): boolean {
  const { profile, installation, userTeam } = request;
  const { workspaces, organization } = profile;
  const { team, enterprise } = installation;
  if (userTeam !== undefined && userTeam !== organization && !workspaces.includes(userTeam))
    return false;
  return workspaces.includes(team) || (enterprise !== undefined && enterprise === organization);
}

/** How long nothing of the kind is looked up after the error. */
function pauseMsOf({ slackError, kind, retryAfterMs = 0 }: SlackError): number {
  // A new manifest takes effect within the hour.
  if (slackError === "missing_scope") return hourMs;
  return isFinal({ kind }) ? 0 : Math.max(minuteMs, retryAfterMs);
}

function isFinal({ kind }: Pick<SlackError, "kind">): boolean {
  return kind === "gone" || kind === "refused" || kind === "no_such_message";
}
