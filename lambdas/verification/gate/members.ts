/** Who is in a user group of Slack at this time. */
import type { Log } from "../../shared/log.ts";
import { type Installation, type SlackApi, SlackError } from "../slack/slack.ts";
import { createKeptValues } from "./kept-values.ts";

const keepMs = 5 * 60_000;

export type Members = {
  /** Rejects where Slack cannot say for now. What it will not say for good (a scope is missing, the group is gone) is no. */
  isMember(request: {
    installation: Installation;
    group: string;
    user: string;
    /** For the log. */
    requestId: string;
    signal: AbortSignal;
  }): Promise<boolean>;
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
  const kept = createKeptValues<ReadonlySet<string>>({ now });
  return {
    async isMember({ installation, group, user, requestId, signal: waiting }) {
      const { team, enterprise = "" } = installation;
      const members = await kept.get({
        key: JSON.stringify([enterprise, team, group]),
        signal: waiting,
        async read(signal) {
          try {
            const users = await slack.groupMembers({ installation, group, requestId, signal });
            return { value: new Set(users), keepMs };
          } catch (thrown) {
            if (!isFinal(thrown)) throw thrown;
            log.warn("group_unreadable", { team, request_id: requestId, slack_error: thrown.slackError });
            return { value: new Set<string>(), keepMs };
          }
        },
      });
      return members.has(user);
    },
  };
}

/** Asked again, Slack would say the same. */
function isFinal(thrown: unknown): thrown is SlackError {
  return thrown instanceof SlackError && ["gone", "refused", "no_such_message"].includes(thrown.kind);
}
