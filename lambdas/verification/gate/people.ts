/** Asks Slack about people: whether somebody is in a user group, and which language they read. */

import { createCachedValues } from "../../shared/async/cache.ts";
import type { Config } from "../../shared/config/schema.ts";
import type { Log } from "../../shared/log.ts";
import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import type { Installation } from "../task/messages.ts";
import type { Locale } from "../task/task.ts";

/** A member that Slack named counts as one for this long. */
const memberLifeMs = 5 * 60_000;
/** A person whom Slack did not name counts as no member for this long, so that a new member is let in soon. */
const absenceMs = 15_000;

type MemberQuery = { installation: Installation; requestId: string; signal: AbortSignal };

export type FindLocale = (request: MemberQuery & { user: string }) => Promise<Locale>;

export type Members = {
  /**
   * Rejects where Slack cannot say for now, unless another of the groups has the person. What it will not say for good (a scope
   * is missing, the group is gone) is no. Each group is read at most once in `absenceMs`, however many people are asked about.
   */
  isInOneOf(request: MemberQuery & { groups: readonly string[]; user: string }): Promise<boolean>;
};

export function createMembers({
  slack,
  log,
  now,
}: {
  slack: Pick<SlackApi, "groupMembers">;
  log: Log;
  now: () => number;
}): Members {
  const kept = createCachedValues<ReadonlySet<string>>({ now });

  function membersOf(
    group: string,
    { installation, requestId, signal: waiting }: MemberQuery,
    refreshAfterMs: number,
  ): Promise<ReadonlySet<string>> {
    const { team, enterprise = "" } = installation;
    return kept.get({
      key: JSON.stringify([enterprise, team, group]),
      signal: waiting,
      refreshAfterMs,
      async read(signal) {
        try {
          const users = await slack.groupMembers({ installation, group, requestId, signal });
          return { value: new Set(users), keepMs: memberLifeMs };
        } catch (thrown) {
          if (!isFinal(thrown)) throw thrown;
          log.warn("group_unreadable", { team, request_id: requestId, slack_error: thrown.slackError });
          return { value: new Set<string>(), keepMs: memberLifeMs };
        }
      },
    });
  }

  return {
    async isInOneOf({ groups, user, ...question }) {
      const failures = new Map<string, unknown>();
      // A member of any group is found by what is known, so that members cost no further reads.
      for (const refreshAfterMs of [memberLifeMs, absenceMs]) {
        for (const group of new Set(groups)) {
          if (failures.has(group)) continue;
          try {
            if ((await membersOf(group, question, refreshAfterMs)).has(user)) return true;
          } catch (thrown) {
            failures.set(group, thrown);
          }
        }
      }
      for (const thrown of failures.values()) throw thrown;
      return false;
    },
  };
}

/** Asked again, Slack would say the same. */
function isFinal(thrown: unknown): thrown is SlackError {
  return thrown instanceof SlackError && ["gone", "refused", "no_such_message"].includes(thrown.kind);
}

const localeLifeMs = 24 * 3600_000;
/** Where Slack does not say, it is not asked for every message again. */
const keepUnknownMs = 60_000;
/** Whoever waits for an answer waits for it, not for its language. */
const longestWaitMs = 3000;
const maxUsers = 5000;

/** Never rejects: who cannot be found out about reads English. */
export function createLocales({
  setting,
  slack,
  now,
  mostWaitMs = longestWaitMs,
}: {
  setting: Config["slack"]["locale"];
  slack: Pick<SlackApi, "person">;
  now: () => number;
  mostWaitMs?: number;
}): FindLocale {
  const kept = createCachedValues<Locale>({ now, maxEntries: maxUsers });
  return async ({ installation, user, requestId, signal }) => {
    if (setting !== "user") return setting;
    const { team, enterprise = "" } = installation;
    const read = async (reading: AbortSignal) => {
      try {
        const { locale } = await slack.person({ installation, user, requestId, signal: reading });
        return { value: toLanguage(locale), keepMs: localeLifeMs };
      } catch (thrown) {
        if (reading.aborted || !(thrown instanceof SlackError)) throw thrown;
        return { value: "en" as const, keepMs: keepUnknownMs };
      }
    };
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(mostWaitMs)]);
    return kept.get({ key: JSON.stringify([enterprise, team, user]), signal: waiting, read }).catch(() => "en");
  };
}

/** `ja` and `ja-JP` are Japanese; everything else reads English. */
function toLanguage(locale: string | undefined): Locale {
  return /^ja\b/i.test(locale ?? "") ? "ja" : "en";
}
