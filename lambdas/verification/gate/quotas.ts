/** Charges tasks to their user and their channel: each quota is a record of the task store, changed by compare-and-set. */

import * as z from "zod";
import type { Config, Quota } from "../../shared/config/schema.ts";
import { changeRecord } from "../../shared/engine/change-record.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { OverQuota } from "../task/events.ts";
import type { Task } from "../task/task.ts";

export type Quotas = {
  /** Counts the task, once however often it is asked; it counts as under way until it is released, or until `untilMs`. */
  charge(request: { task: Task; untilMs: number }): Promise<OverQuota | undefined>;
  release(request: { task: Task }): Promise<void>;
};

type Counter = { by: OverQuota["by"]; id: string; quota: Quota };

/** Without quotas nothing is read or written. */
export function createQuotas({
  limits: { perUser, perChannel },
  store,
  now,
}: {
  limits: Pick<Config["limits"], "perUser" | "perChannel">;
  store: TaskStore<Usage>;
  now: () => number;
}): Quotas {
  function countersOf({ message: { team, user, channel } }: Task): Counter[] {
    return [
      ...(perUser === undefined ? [] : [{ by: "user" as const, id: `usage:user:${team}/${user}`, quota: perUser }]),
      ...(perChannel === undefined
        ? []
        : [{ by: "channel" as const, id: `usage:channel:${team}/${channel}`, quota: perChannel }]),
    ];
  }

  function change<T>(id: string, decide: (usage: Usage) => { item: Usage; result: T }): Promise<T> {
    return changeRecord({ store, id, none: () => noUsage({ id }), decide });
  }

  function undo(how: typeof release, { id, quota }: Counter, requestId: string): Promise<void> {
    return change(id, (usage) => ({ item: how({ usage, quota, requestId, nowMs: now() }), result: undefined }));
  }

  return {
    async charge({ task, untilMs }) {
      const charged: Counter[] = [];
      for (const counter of countersOf(task)) {
        const { by, id, quota } = counter;
        const over = await change<{ retryAtMs?: number } | undefined>(id, (usage) => {
          const outcome = charge({ usage, quota, requestId: task.id, nowMs: now(), untilMs });
          return "over" in outcome ? { item: usage, result: outcome.over } : { item: outcome.usage, result: undefined };
        });
        if (over !== undefined) {
          // Where this is cut off, whoever repeats the charge finds the first quota charged, and gives it back then.
          for (const former of charged) await undo(giveBack, former, task.id);
          return { by, ...over };
        }
        charged.push(counter);
      }
      return undefined;
    },
    async release({ task }) {
      for (const counter of countersOf(task)) await undo(release, counter, task.id);
    },
  };
}

// How much a user, or a channel, has asked for: what a quota has room for, and when again.

/** `untilMs`: it counts as under way until then; absent once it was released. */
const chargeSchema = z.object({ id: z.string(), atMs: z.int(), untilMs: z.int().optional() });
type Charge = z.infer<typeof chargeSchema>;

/** A record of the task store, under an id that no task has. */
const usageSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("usage"),
  expiresAtMs: z.int(),
  charges: z.array(chargeSchema),
});
export type Usage = z.infer<typeof usageSchema>;

/** The clocks of those who read the record differ. */
const clockMarginMs = 60_000;
/** Of tasks that count no more but are not over: so that a charge is known again, within what one record holds. */
const maxRemembered = 1000;

export function parseUsage(json: unknown): Usage {
  return usageSchema.parse(json);
}

export function noUsage({ id }: { id: string }): Usage {
  return { id, revision: 1, state: "usage", expiresAtMs: 0, charges: [] };
}

/** Either the usage with the charge in it (the same object where it was in it already), or why there is no room. */
export function charge({
  usage,
  quota,
  requestId,
  nowMs,
  untilMs,
}: {
  usage: Usage;
  quota: Quota;
  requestId: string;
  nowMs: number;
  untilMs: number;
}): { usage: Usage } | { over: { retryAtMs?: number } } {
  if (usage.charges.some(({ id }) => id === requestId)) return { usage };
  const { tasks = Number.POSITIVE_INFINITY, atOnce = Number.POSITIVE_INFINITY } = quota;
  const windowMs = windowOf(quota);
  const times = usage.charges.map(({ atMs }) => atMs).filter((atMs) => atMs + windowMs > nowMs);
  // One more is free when so many of the oldest ones have left the window that one less than the most is in it.
  const leaving = times.sort((a, b) => a - b)[times.length - tasks];
  if (leaving !== undefined) return { over: { retryAtMs: leaving + windowMs } };
  if (usage.charges.filter((one) => isUnderWay(one, nowMs)).length >= atOnce) return { over: {} };
  return { usage: kept({ usage, quota, nowMs, charges: [...usage.charges, { id: requestId, atMs: nowMs, untilMs }] }) };
}

/** As if it had never been charged. The same object where it was not. */
export function giveBack(change: { usage: Usage; quota: Quota; requestId: string; nowMs: number }): Usage {
  const { usage, requestId } = change;
  const charges = usage.charges.filter(({ id }) => id !== requestId);
  return charges.length === usage.charges.length ? usage : kept({ ...change, charges });
}

/** It is under way no more; within the window it still counts. The same object where nothing is to be changed. */
export function release(change: { usage: Usage; quota: Quota; requestId: string; nowMs: number }): Usage {
  const { usage, requestId } = change;
  if (!usage.charges.some(({ id, untilMs }) => id === requestId && untilMs !== undefined)) return usage;
  const charges = usage.charges.map(({ untilMs, ...one }) =>
    one.id === requestId || untilMs === undefined ? one : { ...one, untilMs },
  );
  return kept({ ...change, charges });
}

function isUnderWay({ untilMs }: Charge, nowMs: number): boolean {
  return untilMs !== undefined && untilMs > nowMs;
}

/** 0 where the quota does not look at what was. */
function windowOf({ tasks, perSeconds }: Quota): number {
  return tasks === undefined ? 0 : perSeconds * 1000;
}

/** Without what neither counts nor will be asked for again. */
function kept({
  usage,
  quota,
  nowMs,
  charges,
}: {
  usage: Usage;
  quota: Quota;
  nowMs: number;
  charges: Charge[];
}): Usage {
  const windowMs = windowOf(quota);
  const counts = (one: Charge) => one.atMs + windowMs > nowMs || (quota.atOnce !== undefined && isUnderWay(one, nowMs));
  const remembered = charges.filter((one) => !counts(one) && isUnderWay(one, nowMs)).slice(-maxRemembered);
  const left = [...remembered, ...charges.filter(counts)];
  const endsMs = left.map(({ atMs, untilMs }) => Math.max(atMs + windowMs, untilMs ?? 0));
  return { ...usage, charges: left, expiresAtMs: Math.max(nowMs, ...endsMs) + clockMarginMs };
}
