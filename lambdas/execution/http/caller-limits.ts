/** Bounds the runs and the held calls of each caller in this process. One caller's limit does not affect others. */
import { SekishoError } from "../../../contracts/errors.ts";

export type CallerLimits = {
  /** Runs of agents. */
  runs: PlaceCount;
  /** Streams, and calls that wait for a change. */
  calls: PlaceCount;
};

/**
 * A place belongs to an id. Whoever takes a place that is held already shares it, and it is free again when all of them have
 * released it.
 */
export type PlaceCount = {
  /** Undefined where the caller has as many places as it may, and none for this id. */
  take(place: Place): Release | undefined;
  /** Takes a place even where none is left. */
  occupy(place: Place): Release;
};

type Place = { principal: string; id: string };
/** Gives back what was taken, once. */
type Release = () => void;

/** Counts are kept in memory alone: whatever ends the process ends what they count. */
export function createPlaceCount({ max }: { max: number }): PlaceCount {
  /** For each principal and id: how many hold the place. */
  const held = new Map<string, Map<string, number>>();

  function add({ principal, id }: Place, holders: 1 | -1): void {
    const places = held.get(principal) ?? new Map<string, number>();
    const left = (places.get(id) ?? 0) + holders;
    if (left > 0) places.set(id, left);
    else places.delete(id);
    if (places.size > 0) held.set(principal, places);
    else held.delete(principal);
  }

  function occupy(place: Place): Release {
    let isHeld = true;
    add(place, 1);
    return () => {
      if (isHeld) add(place, -1);
      isHeld = false;
    };
  }

  return {
    occupy,
    take(place) {
      const places = held.get(place.principal);
      const isFull = places !== undefined && !places.has(place.id) && places.size >= max;
      return isFull ? undefined : occupy(place);
    },
  };
}

const nothing: Release = () => {};
export const unlimited: PlaceCount = { take: () => nothing, occupy: () => nothing };

/** Long enough that a caller that tries a few times waits some minutes in all. */
const leastRetryMs = 15_000;

/** Nothing was begun and nothing stored: the same request may come again. A random part keeps callers from coming back together. */
export function tooManyAtOnce({ random }: { random: () => number }): SekishoError {
  const retry_after_ms = Math.floor(leastRetryMs * (1 + random()));
  return new SekishoError("rate_limited", { details: { retry_after_ms } });
}
