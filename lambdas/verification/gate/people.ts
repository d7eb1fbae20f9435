/** Asks Slack whether a person is in a user group, to which workspaces the person belongs, and which language the person reads. */

import type { Config } from "@sekisho/config/schema.ts";
import { createCachedValues } from "@sekisho/runtime/async/cache.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import type { Installation } from "../task/messages.ts";
import type { Locale } from "../task/task.ts";
import type { Profile } from "./border.ts";

/** How long a person counts as a member of a group before Slack is asked again. */
const memberLifeMs = 5 * 60_000;
/** How long a person counts as a non-member. It is short, so that a new member is allowed soon. */
const nonMemberLifeMs = 15_000;

type MemberQuery = { installation: Installation; requestId: string; signal: AbortSignal };

export type FindLocale = (request: MemberQuery & { user: string }) => Promise<Locale>;

export type Members = {
  /**
   * True if the user is in one of the groups. Rejects if Slack is unavailable, unless a group that could be read has the user. A group that
   * can never be read (a missing scope, a deleted group) has no members. Each group is read at most once per `nonMemberLifeMs`.
   */
  isInOneOf(request: MemberQuery & { groups: readonly string[]; user: string }): Promise<boolean>;
};

export function createMembers(options: {
  slack: Pick<SlackApi, "groupMembers">;
  log: Log;
  now: () => number;
}): Members {
  const { slack, log, now } = options;
  const cachedMembers = createCachedValues<ReadonlySet<string>>({ now });

  function membersOf(
    group: string,
    { installation, requestId, signal: callerSignal }: MemberQuery,
    refreshAfterMs: number,
  ): Promise<ReadonlySet<string>> {
    const { team, enterprise = "" } = installation;
    return cachedMembers.get({
      key: JSON.stringify([enterprise, team, group]),
      signal: callerSignal,
      refreshAfterMs,
      async read(signal) {
        try {
          const users = await slack.groupMembers({ installation, group, requestId, signal });
          return { value: new Set(users), keepMs: memberLifeMs };
        } catch (error) {
          if (!isFinal(error)) throw error;
          log.warn("group_unreadable", {
            team,
            request_id: requestId,
            slack_error: error.slackError,
          });
          return { value: new Set<string>(), keepMs: memberLifeMs };
        }
      },
    });
  }

  return {
    async isInOneOf({ groups, user, ...query }) {
      const failures = new Map<string, unknown>();
      // The first round uses the cached lists of all groups, so that known members cost no further reads.
      for (const refreshAfterMs of [memberLifeMs, nonMemberLifeMs]) {
        for (const group of new Set(groups)) {
          if (failures.has(group)) continue;
          try {
            if ((await membersOf(group, query, refreshAfterMs)).has(user)) return true;
          } catch (error) {
            failures.set(group, error);
          }
        }
      }
      for (const error of failures.values()) throw error;
      return false;
    },
  };
}

/** Resolves to undefined if Slack refuses to tell, for example because of a missing scope. Rejects if Slack is unavailable. */
export type FindProfile = (request: MemberQuery & { user: string }) => Promise<Profile | undefined>;

const profileLifeMs = 5 * 60_000;
const maxCachedProfiles = 5000;

export function createProfiles(options: {
  slack: Pick<SlackApi, "person">;
  log: Log;
  now: () => number;
}): FindProfile {
  const { slack, log, now } = options;
  const cachedProfiles = createCachedValues<Profile | undefined>({
    now,
    maxEntries: maxCachedProfiles,
  });
  return ({ installation, user, requestId, signal: callerSignal }) => {
    const { team, enterprise = "" } = installation;
    return cachedProfiles.get({
      key: JSON.stringify([enterprise, team, user]),
      signal: callerSignal,
      async read(signal) {
        try {
          const { workspaces, organization, isBot } = await slack.person({
            installation,
            user,
            requestId,
            signal,
          });
          return { value: { workspaces, organization, isBot }, keepMs: profileLifeMs };
        } catch (error) {
          if (!isFinal(error)) throw error;
          log.warn("person_unreadable", {
            team,
            user,
            request_id: requestId,
            slack_error: error.slackError,
          });
          return { value: undefined, keepMs: profileLifeMs };
        }
      },
    });
  };
}

function isFinal(error: unknown): error is SlackError {
  return error instanceof SlackError && ["gone", "refused", "no_such_message"].includes(error.kind);
}

const localeLifeMs = 24 * 3600_000;
/** How long an unknown language is cached, so that Slack is not asked for every message. */
const unknownLocaleLifeMs = 60_000;
/** The wait for the language is short, because it must not delay an answer. */
const defaultMaxWaitMs = 3000;
const maxCachedLocales = 5000;

/** Finds the language of users. Never rejects, because an unknown language counts as English. */
export function createLocales(options: {
  setting: Config["slack"]["locale"];
  slack: Pick<SlackApi, "person">;
  now: () => number;
  maxWaitMs?: number;
}): FindLocale {
  const { setting, slack, now, maxWaitMs = defaultMaxWaitMs } = options;
  const cachedLocales = createCachedValues<Locale>({ now, maxEntries: maxCachedLocales });
  return async ({ installation, user, requestId, signal }) => {
    if (setting !== "user") return setting;
    const { team, enterprise = "" } = installation;
    const readLocale = async (reading: AbortSignal) => {
      try {
        const { locale } = await slack.person({ installation, user, requestId, signal: reading });
        return { value: toLanguage(locale), keepMs: localeLifeMs };
      } catch (error) {
        if (reading.aborted || !(error instanceof SlackError)) throw error;
        return { value: "en" as const, keepMs: unknownLocaleLifeMs };
      }
    };
    const callerSignal = AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]);
    return cachedLocales
      .get({
        key: JSON.stringify([enterprise, team, user]),
        signal: callerSignal,
        read: readLocale,
      })
      .catch(() => "en");
  };
}

/** `ja` and `ja-JP` are Japanese. Everything else is English. */
function toLanguage(locale: string | undefined): Locale {
  return /^ja\b/i.test(locale ?? "") ? "ja" : "en";
}
