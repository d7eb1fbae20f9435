/** Counts the tasks of people and channels against their quotas, and ends loops of bots. */

import type { Config, Quota } from "@sekisho/config/schema.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import { changeRecord } from "@sekisho/runtime/engine/records.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import * as z from "zod";
import type { RemainingQuota } from "../slack/messages/overview.ts";
import type { OverQuota } from "../task/events.ts";
import { type Task, threadKeyOf } from "../task/task.ts";

export type Quotas = {
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
    const counters = (["user", "channel"] as const).flatMap((by) => {
      const quota = quotas[by];
      return quota === undefined
        ? []
        : [{ by, id: usageIdOf(by, message.team, message[by]), quota }];
    });
    if (message.botIds === undefined) return counters;
    const { team, channel } = message;
    return [
      ...counters,
      { by: "bots", id: `usage:bots:${team}/${threadKeyOf(message)}`, quota: botQuotas.thread },
      { by: "bots", id: `usage:bots:${team}/${channel}`, quota: botQuotas.channel },
    ];
  }

  function change<T>(id: string, decide: (usage: Usage) => { item: Usage; result: T }): Promise<T> {
    return changeRecord({ store, id, none: () => noUsage({ id }), decide });
  }

  function revertCharge(
    revert: typeof releaseCharge,
    { id, quota }: Counter,
    requestId: string,
  ): Promise<void> {
    return change(id, (usage) => ({
      item: revert({ usage, quota, requestId, nowMs: now() }),
      result: undefined,
    }));
  }

  return {
    async charge({ task, untilMs }) {
      const chargedCounters: Counter[] = [];
      for (const counter of countersOf(task)) {
        const { by, id, quota } = counter;
        const over = await change<{ retryAtMs?: number } | undefined>(id, (usage) => {
          const outcome = addCharge({ usage, quota, requestId: task.id, nowMs: now(), untilMs });
          return "over" in outcome
            ? { item: usage, result: outcome.over }
            : { item: outcome.usage, result: undefined };
        });
        if (over !== undefined) {
          // If this is interrupted, a repeated charge finds the first quota charged and reverts it.
          for (const earlier of chargedCounters) await revertCharge(removeCharge, earlier, task.id);
          const { team, channel, user } = task.message;
          if (by === "bots") log.warn("bot_loop_cut", { request_id: task.id, team, channel, user });
          return { by, ...over };
        }
        chargedCounters.push(counter);
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
      return remainingQuota({
        usage: (await store.get({ id })) ?? noUsage({ id }),
        quota,
        nowMs: now(),
      });
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
export function remainingQuota({
  usage,
  quota,
  nowMs,
}: {
  usage: Usage;
  quota: Quota;
  nowMs: number;
}): RemainingQuota {
  const { tasks, atOnce } = quota;
  const windowMs = toWindowMs(quota);
  const times = usage.charges.map(({ atMs }) => atMs).filter((atMs) => atMs + windowMs > nowMs);
  const blockingAtMs =
    tasks === undefined ? undefined : times.sort((a, b) => a - b)[times.length - tasks];
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
  if (!usage.charges.some(({ id, untilMs }) => id === requestId && untilMs !== undefined))
    return usage;
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
function dropOldCharges(change: {
  usage: Usage;
  quota: Quota;
  nowMs: number;
  charges: Charge[];
}): Usage {
  const { usage, quota, nowMs, charges } = change;
  const windowMs = toWindowMs(quota);
  const counts = (one: Charge) =>
    one.atMs + windowMs > nowMs || (quota.atOnce !== undefined && isUnderWay(one, nowMs));
  const rememberedCharges = charges
    .filter((one) => !counts(one) && isUnderWay(one, nowMs))
    .slice(-maxRemembered);
  const storedCharges = [...rememberedCharges, ...charges.filter(counts)];
  const endsMs = storedCharges.map(({ atMs, untilMs }) => Math.max(atMs + windowMs, untilMs ?? 0));
  return {
    ...usage,
    charges: storedCharges,
    expiresAtMs: Math.max(nowMs, ...endsMs) + clockMarginMs,
  };
}
