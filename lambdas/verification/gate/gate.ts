/** The seam of all that is decided about persons: who may ask, answer and cancel, how much, and in which language they read. */

import type { AllowlistRule, Config } from "../../shared/config/schema.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { AskedMessage, Installation } from "../task/messages.ts";
import type { Locale } from "../task/task.ts";
import { installationOf, type Task } from "../task/task.ts";
import { type Asking, createRulesInForce, judge, type StoredRules } from "./allowlist.ts";
import { createLocales, createMembers, type LocaleOf } from "./people.ts";
import { createQuotas, type Quotas, type Usage } from "./quotas.ts";
import { createRefusals, type RefusalRecord } from "./refusals.ts";

/** Every method rejects where store or Slack are away and nothing is known, and may then be repeated. */
export type Gate = Quotas & {
  /** Never lets in whom no rule fits, nor whom it cannot find out about. */
  permit(request: {
    message: AskedMessage;
    requestId: string;
    signal: AbortSignal;
  }): Promise<{ allowed: boolean; locale: Locale }>;
  /**
   * Whether the message is to be dropped without a word: its person may not ask, and was told so a short time ago, or did not
   * speak to the bot. False where nothing is known of the person. Never rejects.
   */
  isIgnored(request: { message: AskedMessage; requestId: string; signal: AbortSignal }): Promise<boolean>;
  /** Whether that person may not ask there. True also where nothing is known of the person. Never rejects. */
  isStranger(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  /**
   * Whether that person may be told now that something was not done: each `kind` once in a while in that thread, or in that channel where
   * there is none, as `gate/refusals.ts` says. Never rejects.
   */
  mayRefuse(request: {
    task: Task;
    user: string;
    isStranger: boolean;
    kind: string;
    threadTs: string | undefined;
  }): Promise<boolean>;
  mayCancel(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  /** By the `questions.answerBy` of the task's destination. */
  mayAnswer(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  localeOf: LocaleOf;
};

// The gate, made of the configuration, what the task store keeps beside it, and what Slack says of persons.

type Question = { installation: Installation; requestId: string; signal: AbortSignal };

/** `extraRules` join those of the configuration (the fake Slack's workspace on one machine). */
export function createGate({
  config,
  extraRules = [],
  ruleStore,
  usageStore,
  refusalStore,
  slack,
  log,
  now,
}: {
  config: Pick<Config, "allowlist" | "slack" | "limits" | "destinations">;
  extraRules?: readonly AllowlistRule[];
  ruleStore: Pick<TaskStore<StoredRules>, "get">;
  usageStore: TaskStore<Usage>;
  refusalStore: TaskStore<RefusalRecord>;
  slack: Pick<SlackApi, "person" | "groupMembers">;
  log: Log;
  now: () => number;
}): Gate {
  const configured = [...config.allowlist, ...extraRules];
  const rulesOfStore = createRulesInForce({ store: ruleStore, now });
  const members = createMembers({ slack, log, now });
  const refusals = createRefusals({ store: refusalStore, now });
  const locales = createLocales({ setting: config.slack.locale, slack, now });

  async function mayAsk({ asking, ...question }: Question & { asking: Asking }): Promise<boolean> {
    if (judge({ rules: configured, asking }).rule !== undefined) return true;
    const rules = [...configured, ...(await rulesOfStore(question))];
    const { rule, byGroup } = judge({ rules, asking });
    if (rule !== undefined) return true;
    return members.isInOneOf({ ...question, groups: byGroup.map(({ group }) => group), user: asking.user });
  }

  function questionAbout({ task, signal }: { task: Task; signal: AbortSignal }): Question {
    return { installation: installationOf(task), requestId: task.id, signal };
  }

  return {
    async permit({ message, requestId, signal }) {
      const question = { installation: installationOf({ message }), requestId, signal };
      const [allowed, locale] = await Promise.all([
        mayAsk({ ...question, asking: message }),
        locales({ ...question, user: message.user }),
      ]);
      return { allowed, locale };
    },

    async isIgnored({ message, requestId, signal }) {
      const question = { installation: installationOf({ message }), requestId, signal };
      const isStranger = await mayAsk({ ...question, asking: message }).then((allowed) => !allowed, unknown);
      return isStranger && (message.unaddressed === true || refusals.isSilent({ asking: message, requestId }));
    },

    async isStranger({ task, user, signal }) {
      return !(await mayAsk({ ...questionAbout({ task, signal }), asking: { ...task.message, user } }).catch(unknown));
    },

    async mayRefuse({ task, user, isStranger, kind, threadTs }) {
      const asking = { ...task.message, user };
      return isStranger ? refusals.claim({ asking }) : refusals.claimNotice({ asking, kind, threadTs });
    },

    async mayCancel({ task, user, signal }) {
      const { admins } = config.slack;
      if (user === task.message.user || admins.some((admin) => "user" in admin && admin.user === user)) return true;
      const groups = admins.flatMap((admin) => ("group" in admin ? [admin.group] : []));
      return members.isInOneOf({ ...questionAbout({ task, signal }), groups, user });
    },

    async mayAnswer({ task, user, signal }) {
      const question = questionAbout({ task, signal });
      // Of a destination that is not there any more nothing is known: then it is the asker alone.
      const destination =
        task.call?.destination === undefined ? undefined : config.destinations[task.call?.destination];
      const answerBy = destination?.questions.answerBy ?? "asker";
      if (answerBy === "asker") return user === task.message.user;
      if (answerBy === "anyone") return mayAsk({ ...question, asking: { ...task.message, user } });
      return members.isInOneOf({ ...question, groups: [answerBy.group], user });
    },

    localeOf: locales,

    ...createQuotas({ limits: config.limits, store: usageStore, now }),
  };
}

/** Store or Slack are away: whoever asks next may know. */
function unknown(): false {
  return false;
}
