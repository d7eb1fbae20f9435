/** The gate, made of the configuration, what the task store keeps beside it, and what Slack says of persons. */
import type { AllowlistRule, Config } from "../../shared/config/schema.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { Installation, SlackApi } from "../slack/slack.ts";
import { installationOf, type Task } from "../task/task.ts";
import { type Asking, judge } from "./allowlist.ts";
import type { Gate } from "./gate.ts";
import type { KeptRules } from "./kept-rules.ts";
import { createLocales } from "./locales.ts";
import { createMembers } from "./members.ts";
import { createQuotas } from "./quotas.ts";
import { createRulesInForce } from "./rules-in-force.ts";
import type { Usage } from "./usage.ts";

type Question = { installation: Installation; requestId: string; signal: AbortSignal };

/** `extraRules` join those of the configuration (the stand-in's workspace on one machine). */
export function createGate({
  config,
  extraRules = [],
  ruleStore,
  usageStore,
  slack,
  log,
  now,
}: {
  config: Pick<Config, "allowlist" | "slack" | "limits" | "destinations">;
  extraRules?: readonly AllowlistRule[];
  ruleStore: Pick<TaskStore<KeptRules>, "get">;
  usageStore: TaskStore<Usage>;
  slack: Pick<SlackApi, "person" | "groupMembers">;
  log: Log;
  now: () => number;
}): Gate {
  const configured = [...config.allowlist, ...extraRules];
  const rulesOfStore = createRulesInForce({ store: ruleStore, now });
  const members = createMembers({ slack, log, now });
  const locales = createLocales({ setting: config.slack.locale, slack, now });

  async function mayAsk({ asking, ...question }: Question & { asking: Asking }): Promise<boolean> {
    if (judge({ rules: configured, asking }).rule !== undefined) return true;
    const rules = [...configured, ...(await rulesOfStore(question))];
    const { rule, byGroup } = judge({ rules, asking });
    if (rule !== undefined) return true;
    return isInOneOf({ ...question, groups: byGroup.map(({ group }) => group), user: asking.user });
  }

  /** What Slack cannot say of one group matters only where no other one has the person. */
  async function isInOneOf({
    groups,
    ...question
  }: Question & { groups: readonly string[]; user: string }): Promise<boolean> {
    let failure: { thrown: unknown } | undefined;
    for (const group of new Set(groups)) {
      try {
        if (await members.isMember({ ...question, group })) return true;
      } catch (thrown) {
        failure ??= { thrown };
      }
    }
    if (failure !== undefined) throw failure.thrown;
    return false;
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

    async mayCancel({ task, user, signal }) {
      const { admins } = config.slack;
      if (user === task.message.user || admins.some((admin) => "user" in admin && admin.user === user)) return true;
      const groups = admins.flatMap((admin) => ("group" in admin ? [admin.group] : []));
      return isInOneOf({ ...questionAbout({ task, signal }), groups, user });
    },

    async mayAnswer({ task, user, signal }) {
      const question = questionAbout({ task, signal });
      // Of a destination that is not there any more nothing is known: then it is the asker alone.
      const destination = task.destination === undefined ? undefined : config.destinations[task.destination];
      const answerBy = destination?.questions.answerBy ?? "asker";
      if (answerBy === "asker") return user === task.message.user;
      if (answerBy === "anyone") return mayAsk({ ...question, asking: { ...task.message, user } });
      return isInOneOf({ ...question, groups: [answerBy.group], user });
    },

    localeOf: locales,

    ...createQuotas({ limits: config.limits, store: usageStore, now }),
  };
}
