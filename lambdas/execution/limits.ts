/** Counts the runs and calls that each caller has in this process, and limits them. */
import { SekishoError } from "@sekisho/contracts/errors.ts";

export type CallerLimits = {
  /** Runs of agents. */
  runs: RunSlots;
  /** Streams, and calls that wait for a change. */
  calls: RunSlots;
};

/**
 * Counts the slots that each caller holds. A slot belongs to an id and can be shared: it is free once all its holders have released it.
 */
export type RunSlots = {
  /** Returns undefined if the caller has reached its limit and holds no slot for this id. */
  take(slot: CallerSlot): Release | undefined;
  /** Takes a slot even if the caller has reached its limit. */
  occupy(slot: CallerSlot): Release;
};

type CallerSlot = { principal: string; id: string };
/** Releases a slot; further calls do nothing. */
type Release = () => void;

/** The counts are in memory, because the counted work ends with the process. */
export function createRunSlots({ max }: { max: number }): RunSlots {
  /** The number of holders for each principal and id. */
  const heldSlots = new Map<string, Map<string, number>>();

  function add({ principal, id }: CallerSlot, holders: 1 | -1): void {
    const slots = heldSlots.get(principal) ?? new Map<string, number>();
    const holderCount = (slots.get(id) ?? 0) + holders;
    if (holderCount > 0) slots.set(id, holderCount);
    else slots.delete(id);
    if (slots.size > 0) heldSlots.set(principal, slots);
    else heldSlots.delete(principal);
  }

  function occupy(slot: CallerSlot): Release {
    let isHeld = true;
    add(slot, 1);
    return () => {
      if (isHeld) add(slot, -1);
      isHeld = false;
    };
  }

  return {
    occupy,
    take(slot) {
      const slots = heldSlots.get(slot.principal);
      const isFull = slots !== undefined && !slots.has(slot.id) && slots.size >= max;
      return isFull ? undefined : occupy(slot);
    },
  };
}

const releaseNothing: Release = () => {};
export const unlimitedSlots: RunSlots = {
  take: () => releaseNothing,
  occupy: () => releaseNothing,
};

/** The shortest delay before a retry. It is so long that a few retries take minutes. */
const minRetryMs = 15_000;

/** Nothing was started or stored, so the request may be repeated. The delay is random, so that callers do not all return at once. */
export function createTooManyCallsError({ random }: { random: () => number }): SekishoError {
  const retry_after_ms = Math.floor(minRetryMs * (1 + random()));
  return new SekishoError("rate_limited", { details: { retry_after_ms } });
}
