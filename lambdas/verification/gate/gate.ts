/** Decides who may ask, answer and cancel, how many tasks they may have, and which language they read. */

import type { AllowlistRule, Config } from "@sekisho/config/schema.ts";
import type { Answerers } from "@sekisho/contracts/answer-rules.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { RemainingQuota } from "../slack/messages/overview.ts";
import type { Installation, UserMessage } from "../task/messages.ts";
import { installationOf, type Locale, type Task } from "../task/task.ts";
import {
  type Actor,
  actorOf,
  hasManyWorkspaces,
  isAsker,
  isOwnPerson,
  isRuleIn,
  type Person,
} from "./border.ts";
import { createLocales, createMembers, createProfiles, type FindLocale } from "./people.ts";
import { createQuotas, type Quotas, type Usage } from "./quotas.ts";
import { createRefusals, type RefusalRecord } from "./refusals.ts";
import {
  createEffectiveRules,
  matchRules,
  type Requester,
  type StoredRules,
  toDefaultLocale,
} from "./rules.ts";

/** Every method rejects if the store or Slack is unavailable and nothing is cached, and may then be repeated. */
export type Gate = Pick<Quotas, "charge" | "release" | "findOver"> & {
  /**
   * Returns whether the rules allow the person to ask, and the person's language. `isExternal`: they would if the channel were not shared
   * with other organizations.
   */
  permit(request: {
    message: UserMessage;
    requestId: string;
    signal: AbortSignal;
  }): Promise<{ allowed: boolean; locale: Locale; isExternal?: boolean }>;
  /**
   * True if the message is dropped without an answer: the person may not ask, and either got a refusal recently or did not mention the bot;
   * or it is another bot, which never gets a refusal. False if the store or Slack is unavailable. Never rejects.
   */
  isIgnored(request: {
    message: UserMessage;
    requestId: string;
    signal: AbortSignal;
  }): Promise<boolean>;
  /**
   * Checks where the person who acts on the task belongs. Every interaction passes this check, and its result decides in the methods below.
   * People of other workspaces are refused unless a rule or the configuration names them.
   */
  identify(request: ActorQuery): Promise<Person>;
  /** True if the person may not ask in the task's channel, or if the store or Slack is unavailable. Never rejects. */
  isStranger(request: ActorQuery): Promise<boolean>;
  /**
   * True if the person may be shown a refusal now. Each `kind` is shown once per time window and thread, or per channel outside a
   * thread, so that nobody can flood a channel with refusals. Never rejects.
   */
  mayRefuse(request: {
    task: Task;
    user: string;
    isStranger: boolean;
    kind: string;
    threadTs: string | undefined;
  }): Promise<boolean>;
  /** True if the rules allow the person to ask in the task's channel. */
  mayAskThere(request: PersonQuery): Promise<boolean>;
  /** True for the person who asked, and for the people of `slack.admins`. */
  mayCancel(request: PersonQuery): Promise<boolean>;
  /**
   * Decides by `questions.answerBy` of the task's destination and by the rules of the open question: both must let the person answer. Only
   * the person who asked gets a link to sign in, whatever the rules are.
   */
  mayAnswer(request: PersonQuery): Promise<boolean>;
  localeOf: FindLocale;
  /** Lists the rights and the quota of one person in the workspace, for texts to that person. */
  accessOf(
    request: GateQuery & { actor: Actor; channels: readonly string[] },
  ): Promise<PersonAccess>;
};

/** `mayAsk`: somewhere. `channels` are those of the request in which the person may ask. `rules` are those of the workspace. */
export type PersonAccess = {
  mayAsk: boolean;
  channels: readonly string[];
  rules: readonly AllowlistRule[];
  quota: RemainingQuota;
};

type ActorQuery = { task: Task; actor: Actor; signal: AbortSignal };
type PersonQuery = { task: Task; person: Person; signal: AbortSignal };
type GateQuery = { installation: Installation; requestId: string; signal: AbortSignal };

/** `extraRules` are added to the configured rules. They allow the fake Slack's people on one machine. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createGate(options: {
  config: Pick<Config, "allowlist" | "slack" | "limits" | "destinations">;
  extraRules?: readonly AllowlistRule[];
  ruleStore: Pick<TaskStore<StoredRules>, "get">;
  usageStore: TaskStore<Usage>;
  refusalStore: TaskStore<RefusalRecord>;
  slack: Pick<SlackApi, "person" | "groupMembers">;
  log: Log;
  now: () => number;
}): Gate {
  const { config, extraRules = [], ruleStore, usageStore, refusalStore, slack, log, now } = options;
  const configuredRules = [...config.allowlist, ...extraRules];
  const isShared = hasManyWorkspaces(config);
  const readStoredRules = createEffectiveRules({ store: ruleStore, now });
  const members = createMembers({ slack, log, now });
  const profiles = createProfiles({ slack, log, now });
  const refusals = createRefusals({ store: refusalStore, now });
  const locales = createLocales({ setting: config.slack.locale, slack, now });
  const quotas = createQuotas({ limits: config.limits, store: usageStore, log, now });

  async function listRules(query: GateQuery): Promise<readonly AllowlistRule[]> {
    return [...configuredRules, ...(await readStoredRules(query))];
  }

  function match(rules: readonly AllowlistRule[], requester: Requester) {
    return matchRules({ rules, requester, hasManyWorkspaces: isShared });
  }

  async function mayAsk({
    requester,
    ...query
  }: GateQuery & { requester: Requester }): Promise<boolean> {
    if (match(configuredRules, requester).rule !== undefined) return true;
    const { rule, byGroup } = match(await listRules(query), requester);
    if (rule !== undefined) return true;
    return members.isInOneOf({
      ...query,
      groups: byGroup.map(({ group }) => group),
      user: requester.user,
    });
  }

  /** `external` says whether the channel is shared. Slack is asked only about people who are not named as the installation's. */
  async function identify(
    request: GateQuery & { actor: Actor; external: UserMessage["external"] },
  ): Promise<Person> {
    const { actor, external, ...query } = request;
    const { user, userTeam } = actor;
    const own: Person = { user, external: external === undefined ? undefined : "channels" };
    if (userTeam === query.installation.team) return own;
    const profile = await profiles({ ...query, user });
    if (profile === undefined) return { user, external: "people" };
    const isOwn = isOwnPerson({ ...query, userTeam, profile, rules: await listRules(query) });
    return isOwn ? own : { user, external: "people" };
  }

  /** A bot is no person: the rules name it. What an app posts with a person's own token counts as that person's as well. */
  async function decide({
    message,
    ...query
  }: GateQuery & { message: UserMessage }): Promise<{ requester: Requester; isAllowed: boolean }> {
    if (message.botIds !== undefined) {
      const isAllowed = await mayAsk({ ...query, requester: message });
      if (isAllowed || !(await isPerson({ ...query, user: message.user })))
        return { requester: message, isAllowed };
    }
    const { external } = message;
    const person = await identify({ ...query, actor: actorOf(message), external });
    const requester = { ...message, ...person, botIds: undefined };
    return { requester, isAllowed: await mayAsk({ ...query, requester }) };
  }

  /** True if Slack says so. Such a post has all the fields of a bot's, and only its user is another one. */
  async function isPerson(query: GateQuery & { user: string }): Promise<boolean> {
    return /^[UW]/.test(query.user) && (await profiles(query))?.isBot === false;
  }

  function toQuery(task: Task, signal: AbortSignal): GateQuery {
    return { installation: installationOf(task), requestId: task.id, signal };
  }

  /** True if one of the entries that count in the task's workspace names the person or a group of the person. */
  async function isNamed({
    task,
    person,
    entries,
    signal,
  }: PersonQuery & { entries: readonly Entry[] }) {
    if (person.external === "people") return false;
    const query = toQuery(task, signal);
    const counting = entries.filter((rule) =>
      isRuleIn({ rule, ...query, hasManyWorkspaces: isShared }),
    );
    if (counting.some((entry) => "user" in entry && entry.user === person.user)) return true;
    const groups = counting.flatMap((entry) => ("group" in entry ? [entry.group] : []));
    return members.isInOneOf({ ...query, groups, user: person.user });
  }

  /** True if the agent lets the person answer. A newer version may know further rules, by which nobody here may answer. */
  async function isAmong({
    answerers,
    ...query
  }: PersonQuery & { answerers: Answerers | undefined }) {
    const { task, person } = query;
    switch (answerers) {
      case undefined:
      case "anyone":
        return true;
      case "asker":
        return isAsker(task, person);
      case "not-asker":
        // The same id in another organization counts as the same person here.
        return person.user !== task.message.user;
      default:
        return isMember({ ...query, group: Object(answerers).group });
    }
  }

  /** People of other organizations are in no group. The group is one of the task's workspace, because the bot's token there reads it. */
  async function isMember({ group, task, person, signal }: PersonQuery & { group: unknown }) {
    if (typeof group !== "string" || person.external === "people") return false;
    return members.isInOneOf({ ...toQuery(task, signal), groups: [group], user: person.user });
  }

  const identifyActor: Gate["identify"] = ({ task, actor, signal }) =>
    identify({ ...toQuery(task, signal), actor, external: task.message.external });

  const mayAskThere: Gate["mayAskThere"] = ({ task, person, signal }) =>
    mayAsk({
      ...toQuery(task, signal),
      requester: { ...task.message, ...person, botIds: undefined },
    });

  return {
    async permit({ message, requestId, signal }) {
      const query = { installation: installationOf({ message }), requestId, signal };
      const [{ requester, isAllowed }, locale] = await Promise.all([
        decide({ ...query, message }),
        message.botIds === undefined
          ? locales({ ...query, user: message.user })
          : toDefaultLocale(config.slack),
      ]);
      // With these ids, `sekisho allow why` says how to let the person in.
      const { team, channel, user } = message;
      if (!isAllowed)
        log.info("request_not_allowed", { request_id: requestId, team, channel, user });
      if (isAllowed || requester.external === undefined) return { allowed: isAllowed, locale };
      const isExternal = await mayAsk({
        ...query,
        requester: { ...requester, external: undefined },
      });
      return { allowed: isAllowed, locale, isExternal };
    },

    async isIgnored({ message, requestId, signal }) {
      const query = { installation: installationOf({ message }), requestId, signal };
      const isStranger = await decide({ ...query, message }).then(
        ({ isAllowed }) => !isAllowed,
        toFalse,
      );
      const isSilent = message.unaddressed === true || message.botIds !== undefined;
      return isStranger && (isSilent || refusals.isSilent({ requester: message, requestId }));
    },

    identify: identifyActor,

    async isStranger(request) {
      return !(await identifyActor(request)
        .then((person) => mayAskThere({ ...request, person }))
        .catch(toFalse));
    },

    async mayRefuse({ task, user, isStranger, kind, threadTs }) {
      const requester = { ...task.message, user };
      return isStranger
        ? refusals.claim({ requester })
        : refusals.claimNotice({ requester, kind, threadTs });
    },

    mayAskThere,

    async mayCancel({ task, person, signal }) {
      return (
        isAsker(task, person) || isNamed({ task, person, entries: config.slack.admins, signal })
      );
    },

    async mayAnswer({ task, person, signal }) {
      const { signIn, answerers } = task.question ?? {};
      if (signIn !== undefined) return isAsker(task, person);
      if (!(await isAmong({ answerers, task, person, signal }))) return false;
      // If the destination was removed from the configuration, only the person who asked may answer.
      const destination = task.call && config.destinations[task.call.destination];
      const answerBy = destination?.questions.answerBy ?? "asker";
      if (answerBy === "asker") return isAsker(task, person);
      if (answerBy === "anyone") return mayAskThere({ task, person, signal });
      return isNamed({ task, person, entries: [answerBy], signal });
    },

    localeOf: locales,

    async accessOf({ actor, channels, ...query }) {
      const { installation } = query;
      const { team } = installation;
      const { user, external } = await identify({ ...query, actor, external: undefined });
      const counting = (await listRules(query)).filter((rule) =>
        isRuleIn({ rule, installation, hasManyWorkspaces: isShared }),
      );
      // People of another organization read nothing about the people of this one.
      const rules =
        external === undefined ? counting : counting.filter((rule) => rule.external === "people");
      const requester = { ...installation, user, external };
      // A rule that names a channel lets the person ask somewhere.
      const anywhere = match(
        rules.map(({ channel: _channel, ...rule }) => ({ team, ...rule })),
        { ...requester, channel: "" },
      );
      const groups = anywhere.byGroup.map(({ group }) => group);
      const isAllowed =
        anywhere.rule !== undefined || (await members.isInOneOf({ ...query, groups, user }));
      const allowedChannels = await Promise.all(
        channels.map(async (channel) =>
          (await mayAsk({ ...query, requester: { ...requester, channel } })) ? [channel] : [],
        ),
      );
      return {
        mayAsk: isAllowed,
        channels: allowedChannels.flat(),
        rules,
        quota: await quotas.remaining({ team, user }),
      };
    },

    charge: quotas.charge,
    findOver: quotas.findOver,
    release: quotas.release,
  };
}

/** Names people in `slack.admins` or `questions.answerBy`. */
type Entry = Config["slack"]["admins"][number];

/** For use in `catch`, where the store or Slack is unavailable. */
function toFalse(): false {
  return false;
}
