/** Decides who may ask, answer and cancel, how many tasks they may have, and which language they read. */

import * as z from "zod";
import type { AllowlistRule, Config, Quota } from "../../shared/config/schema.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import { checkRecord } from "../../shared/engine/record-version.ts";
import { changeRecord } from "../../shared/engine/records.ts";
import type { Log } from "../../shared/log.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { RemainingQuota } from "../slack/messages/overview.ts";
import type { OverQuota } from "../task/events.ts";
import type { Installation, UserMessage } from "../task/messages.ts";
import { installationOf, type Locale, type Task, threadKeyOf } from "../task/task.ts";
import { createLocales, createMembers, type FindLocale } from "./people.ts";
import { createRefusals, type RefusalRecord } from "./refusals.ts";
import {
  createEffectiveRules,
  listWorkspaceRules,
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
  isIgnored(request: { message: UserMessage; requestId: string; signal: AbortSignal }): Promise<boolean>;
  /** True if the person may not ask in the task's channel, or if the store or Slack is unavailable. Never rejects. */
  isStranger(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  /**
   * True if the person may be shown a refusal now. Each `kind` is shown once per time window and thread, or per channel outside a
   * thread, so that nobody can flood a channel with refusals. Never rejects.
   */
  mayRefuse(
    request: PersonQuery & { isStranger: boolean; kind: string; threadTs: string | undefined },
  ): Promise<boolean>;
  /** True if the rules allow the person to ask in the task's channel. `external` is where the person stands in a shared channel. */
  mayAskThere(request: PersonQuery & { external: UserMessage["external"]; signal: AbortSignal }): Promise<boolean>;
  mayCancel(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  /** Decides by `questions.answerBy` of the task's destination. `external` is where the person stands in a shared channel. */
  mayAnswer(request: {
    task: Task;
    user: string;
    external: UserMessage["external"];
    signal: AbortSignal;
  }): Promise<boolean>;
  localeOf: FindLocale;
  /** Lists the rights and the quota of one person in the workspace, for texts to that person. */
  accessOf(request: GateQuery & { user: string; channels: readonly string[] }): Promise<PersonAccess>;
};

/** `mayAsk`: somewhere. `channels` are those of the request in which the person may ask. `rules` are those of the workspace. */
export type PersonAccess = {
  mayAsk: boolean;
  channels: readonly string[];
  rules: readonly AllowlistRule[];
  quota: RemainingQuota;
};

type PersonQuery = { task: Task; user: string };
type GateQuery = { installation: Installation; requestId: string; signal: AbortSignal };

/** `extraRules` are added to the configured rules. They allow the fake Slack's people on one machine. */
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
  const configured = [...config.allowlist, ...extraRules];
  const readStoredRules = createEffectiveRules({ store: ruleStore, now });
  const members = createMembers({ slack, log, now });
  const refusals = createRefusals({ store: refusalStore, now });
  const locales = createLocales({ setting: config.slack.locale, slack, now });
  const quotas = createQuotas({ limits: config.limits, store: usageStore, log, now });

  async function mayAsk({ requester, ...query }: GateQuery & { requester: Requester }): Promise<boolean> {
    if (matchRules({ rules: configured, requester }).rule !== undefined) return true;
    const rules = [...configured, ...(await readStoredRules(query))];
    const { rule, byGroup } = matchRules({ rules, requester });
    if (rule !== undefined) return true;
    return members.isInOneOf({ ...query, groups: byGroup.map(({ group }) => group), user: requester.user });
  }

  function toQuery(task: Task, signal: AbortSignal): GateQuery {
    return { installation: installationOf(task), requestId: task.id, signal };
  }

  return {
    async permit({ message, requestId, signal }) {
      const query = { installation: installationOf({ message }), requestId, signal };
      const [allowed, locale] = await Promise.all([
        mayAsk({ ...query, requester: message }),
        message.botIds === undefined ? locales({ ...query, user: message.user }) : toDefaultLocale(config.slack),
      ]);
      // With these ids, `sekisho allow why` says how to let the person in.
      const { team, channel, user, external } = message;
      if (!allowed) log.info("request_not_allowed", { request_id: requestId, team, channel, user });
      if (allowed || external === undefined) return { allowed, locale };
      const isExternal = await mayAsk({ ...query, requester: { ...message, external: undefined } });
      return { allowed, locale, isExternal };
    },

    async isIgnored({ message, requestId, signal }) {
      const query = { installation: installationOf({ message }), requestId, signal };
      const isStranger = await mayAsk({ ...query, requester: message }).then((allowed) => !allowed, toFalse);
      const isSilent = message.unaddressed === true || message.botIds !== undefined;
      return isStranger && (isSilent || refusals.isSilent({ requester: message, requestId }));
    },

    async isStranger({ task, user, signal }) {
      return !(await mayAsk({ ...toQuery(task, signal), requester: personOf(task, user) }).catch(toFalse));
    },

    async mayRefuse({ task, user, isStranger, kind, threadTs }) {
      const requester = { ...task.message, user };
      return isStranger ? refusals.claim({ requester }) : refusals.claimNotice({ requester, kind, threadTs });
    },

    mayAskThere: ({ task, user, external, signal }) =>
      mayAsk({ ...toQuery(task, signal), requester: { ...personOf(task, user), external } }),

    async mayCancel({ task, user, signal }) {
      const { admins } = config.slack;
      if (user === task.message.user || admins.some((admin) => "user" in admin && admin.user === user)) return true;
      const groups = admins.flatMap((admin) => ("group" in admin ? [admin.group] : []));
      return members.isInOneOf({ ...toQuery(task, signal), groups, user });
    },

    async mayAnswer({ task, user, external, signal }) {
      const query = toQuery(task, signal);
      // If the destination was removed from the configuration, only the person who asked may answer.
      const destination = task.call && config.destinations[task.call.destination];
      const answerBy = destination?.questions.answerBy ?? "asker";
      if (answerBy === "asker") return user === task.message.user;
      if (answerBy === "anyone") return mayAsk({ ...query, requester: { ...personOf(task, user), external } });
      return members.isInOneOf({ ...query, groups: [answerBy.group], user });
    },

    localeOf: locales,

    async accessOf({ user, channels, ...query }) {
      const { team } = query.installation;
      const isShared = config.slack.install !== undefined;
      const rules = listWorkspaceRules({ rules: [...configured, ...(await readStoredRules(query))], team, isShared });
      // A rule that names a channel lets the person ask somewhere.
      const anywhere = matchRules({
        rules: rules.map(({ channel: _channel, ...rule }) => ({ team, ...rule })),
        requester: { team, channel: "", user },
      });
      const groups = anywhere.byGroup.map(({ group }) => group);
      const isAllowed = anywhere.rule !== undefined || (await members.isInOneOf({ ...query, groups, user }));
      const allowed = await Promise.all(
        channels.map(async (channel) =>
          (await mayAsk({ ...query, requester: { team, channel, user } })) ? [channel] : [],
        ),
      );
      return { mayAsk: isAllowed, channels: allowed.flat(), rules, quota: await quotas.remaining({ team, user }) };
    },

    charge: quotas.charge,
    findOver: quotas.findOver,
    release: quotas.release,
  };
}

/** The person in the task's channel. The task itself may be of a bot. */
function personOf({ message }: Task, user: string): Requester {
  return { ...message, user, botIds: undefined };
}

/** For use in `catch`, where the store or Slack is unavailable. */
function toFalse(): false {
  return false;
}

type Quotas = {
  /**
   * Counts the task once, even if called again. The task counts as running until it is released, or until `untilMs`. Returns the exceeded
   * quota, and counts nothing then.
   */
  charge(request: { task: Task; untilMs: number }): Promise<OverQuota | undefined>;
  /** Returns the quota that one more task like this would exceed, and counts nothing. */
  findOver(request: { task: Task }): Promise<OverQuota | undefined>;
  /** The task no longer counts as running. */
  release(request: { task: Task }): Promise<void>;
  /** Reads what is left of the person's own quota. */
  remaining(person: { team: string; user: string }): Promise<RemainingQuota>;
};

type Counter = { by: OverQuota["by"]; id: string; quota: Quota };

/**
 * The tasks of other bots, all together: per thread, and per channel. They end a loop of two bots, whatever the other one does: what is
 * over the limit gets no answer, so the other bot has nothing to answer either.
 */
const botQuotas = {
  thread: { tasks: 3, perSeconds: 24 * 3600 },
  channel: { tasks: 20, perSeconds: 3600 },
} as const satisfies Record<string, Quota>;

/** Without quotas, nothing is read or written for a person's message. */
export function createQuotas(options: {
  limits: Pick<Config["limits"], "perUser" | "perChannel">;
  store: TaskStore<Usage>;
  log: Log;
  now: () => number;
}): Quotas {
  const { limits, store, log, now } = options;
  const quotas = { user: limits.perUser, channel: limits.perChannel };
  function countersOf({ message }: Task): Counter[] {
    const configured = (["user", "channel"] as const).flatMap((by) => {
      const quota = quotas[by];
      return quota === undefined ? [] : [{ by, id: usageIdOf(by, message.team, message[by]), quota }];
    });
    if (message.botIds === undefined) return configured;
    const { team, channel } = message;
    return [
      ...configured,
      { by: "bots", id: `usage:bots:${team}/${threadKeyOf(message)}`, quota: botQuotas.thread },
      { by: "bots", id: `usage:bots:${team}/${channel}`, quota: botQuotas.channel },
    ];
  }

  function change<T>(id: string, decide: (usage: Usage) => { item: Usage; result: T }): Promise<T> {
    return changeRecord({ store, id, none: () => noUsage({ id }), decide });
  }

  function revertCharge(revert: typeof releaseCharge, { id, quota }: Counter, requestId: string): Promise<void> {
    return change(id, (usage) => ({ item: revert({ usage, quota, requestId, nowMs: now() }), result: undefined }));
  }

  return {
    async charge({ task, untilMs }) {
      const charged: Counter[] = [];
      for (const counter of countersOf(task)) {
        const { by, id, quota } = counter;
        const over = await change<{ retryAtMs?: number } | undefined>(id, (usage) => {
          const outcome = addCharge({ usage, quota, requestId: task.id, nowMs: now(), untilMs });
          return "over" in outcome ? { item: usage, result: outcome.over } : { item: outcome.usage, result: undefined };
        });
        if (over !== undefined) {
          // If this is interrupted, a repeated charge finds the first quota charged and reverts it.
          for (const earlier of charged) await revertCharge(removeCharge, earlier, task.id);
          const { team, channel, user } = task.message;
          if (by === "bots") log.warn("bot_loop_cut", { request_id: task.id, team, channel, user });
          return { by, ...over };
        }
        charged.push(counter);
      }
      return undefined;
    },
    async findOver({ task }) {
      for (const { by, id, quota } of countersOf(task)) {
        const usage = (await store.get({ id })) ?? noUsage({ id });
        const outcome = addCharge({ usage, quota, requestId: "", nowMs: now(), untilMs: 0 });
        if ("over" in outcome) return { by, ...outcome.over };
      }
      return undefined;
    },
    async release({ task }) {
      for (const counter of countersOf(task)) await revertCharge(releaseCharge, counter, task.id);
    },
    async remaining({ team, user }) {
      const quota = limits.perUser;
      if (quota === undefined) return {};
      const id = usageIdOf("user", team, user);
      return remainingQuota({ usage: (await store.get({ id })) ?? noUsage({ id }), quota, nowMs: now() });
    },
  };
}

function usageIdOf(by: "user" | "channel", team: string, id: string): string {
  return `usage:${by}:${team}/${id}`;
}

/** The task counts as running until `untilMs`, which is absent once the task was released. */
const chargeSchema = z.object({ id: z.string(), atMs: z.int(), untilMs: z.int().optional() });
type Charge = z.infer<typeof chargeSchema>;

/** A record in the task store, with an id that no task has. */
const usageSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("usage"),
  expiresAtMs: z.int(),
  charges: z.array(chargeSchema),
});
export type Usage = z.infer<typeof usageSchema>;

/** Allows for clock differences between readers of the record. */
const clockMarginMs = 60_000;
/** Limits the charges that are stored only to recognize a repeated charge, because the record must stay small. */
const maxRemembered = 1000;

export function parseUsage(json: unknown): Usage {
  return checkRecord({ schema: usageSchema, json });
}

export function noUsage({ id }: { id: string }): Usage {
  return { id, revision: 1, state: "usage", expiresAtMs: 0, charges: [] };
}

/** Returns the usage with the charge (the same object if it was charged already), or when there will be room. */
export function addCharge(request: {
  usage: Usage;
  quota: Quota;
  requestId: string;
  nowMs: number;
  untilMs: number;
}): { usage: Usage } | { over: { retryAtMs?: number } } {
  const { usage, quota, requestId, nowMs, untilMs } = request;
  if (usage.charges.some(({ id }) => id === requestId)) return { usage };
  const { tasks = Number.POSITIVE_INFINITY, atOnce = Number.POSITIVE_INFINITY } = quota;
  const windowMs = toWindowMs(quota);
  const times = usage.charges.map(({ atMs }) => atMs).filter((atMs) => atMs + windowMs > nowMs);
  // With a full window, the next task must wait until this charge leaves it.
  const blockingAtMs = times.sort((a, b) => a - b)[times.length - tasks];
  if (blockingAtMs !== undefined) return { over: { retryAtMs: blockingAtMs + windowMs } };
  if (usage.charges.filter((one) => isUnderWay(one, nowMs)).length >= atOnce) return { over: {} };
  const charges = [...usage.charges, { id: requestId, atMs: nowMs, untilMs }];
  return { usage: dropOldCharges({ usage, quota, nowMs, charges }) };
}

/** The quota's own numbers, and what is left of them. */
export function remainingQuota({ usage, quota, nowMs }: { usage: Usage; quota: Quota; nowMs: number }): RemainingQuota {
  const { tasks, atOnce } = quota;
  const windowMs = toWindowMs(quota);
  const times = usage.charges.map(({ atMs }) => atMs).filter((atMs) => atMs + windowMs > nowMs);
  const blockingAtMs = tasks === undefined ? undefined : times.sort((a, b) => a - b)[times.length - tasks];
  const underWay = usage.charges.filter((one) => isUnderWay(one, nowMs)).length;
  return {
    ...(tasks !== undefined && {
      inPeriod: {
        left: Math.max(0, tasks - times.length),
        of: tasks,
        spanMs: windowMs,
        ...(blockingAtMs !== undefined && { freeAtMs: blockingAtMs + windowMs }),
      },
    }),
    ...(atOnce !== undefined && { atOnce: { left: Math.max(0, atOnce - underWay), of: atOnce } }),
  };
}

type Revert = { usage: Usage; quota: Quota; requestId: string; nowMs: number };

/** Removes the charge. Returns the same object if there is none. */
export function removeCharge(change: Revert): Usage {
  const { usage, requestId } = change;
  const charges = usage.charges.filter(({ id }) => id !== requestId);
  return charges.length === usage.charges.length ? usage : dropOldCharges({ ...change, charges });
}

/** Marks the task as no longer running. Within the window it still counts. Returns the same object if nothing changes. */
export function releaseCharge(change: Revert): Usage {
  const { usage, requestId } = change;
  if (!usage.charges.some(({ id, untilMs }) => id === requestId && untilMs !== undefined)) return usage;
  const charges = usage.charges.map(({ untilMs, ...one }) =>
    one.id === requestId || untilMs === undefined ? one : { ...one, untilMs },
  );
  return dropOldCharges({ ...change, charges });
}

function isUnderWay({ untilMs }: Charge, nowMs: number): boolean {
  return untilMs !== undefined && untilMs > nowMs;
}

/** Returns the length of the quota's window, or 0 if the quota only limits concurrent tasks. */
function toWindowMs({ tasks, perSeconds }: Quota): number {
  return tasks === undefined ? 0 : perSeconds * 1000;
}

/** Drops charges that no longer count. */
function dropOldCharges(change: { usage: Usage; quota: Quota; nowMs: number; charges: Charge[] }): Usage {
  const { usage, quota, nowMs, charges } = change;
  const windowMs = toWindowMs(quota);
  const counts = (one: Charge) => one.atMs + windowMs > nowMs || (quota.atOnce !== undefined && isUnderWay(one, nowMs));
  const remembered = charges.filter((one) => !counts(one) && isUnderWay(one, nowMs)).slice(-maxRemembered);
  const stored = [...remembered, ...charges.filter(counts)];
  const endsMs = stored.map(({ atMs, untilMs }) => Math.max(atMs + windowMs, untilMs ?? 0));
  return { ...usage, charges: stored, expiresAtMs: Math.max(nowMs, ...endsMs) + clockMarginMs };
}
