/** Plans the rotation of the keys that sign who asked. */
import { type AskerKey, findCurrentKey } from "@sekisho/runtime/asker/current-key.ts";

/**
 * The longest cache of keys among the verifiers that exist is about two hours (API Gateway). A day leaves time for a deploy and for
 * publishing, and is long enough to stop a key that turns out wrong.
 */
const dayMs = 24 * 3600_000;

export type KeyRole = "signs" | "next" | "superseded";

/** `supersededAt` is the time at which a younger key began to sign. */
export type RankedKey = AskerKey & { role: KeyRole; supersededAtMs?: number };

/** Oldest first. While the time of no key has come, the oldest one signs. */
export function rankKeys(keys: readonly AskerKey[], nowMs: number): RankedKey[] {
  const byAge = keys.toSorted((a, b) => Date.parse(a.from) - Date.parse(b.from));
  const currentKey = findCurrentKey(byAge, nowMs);
  const current = currentKey === undefined ? -1 : byAge.indexOf(currentKey);
  return byAge.map((key, index) => {
    if (key === currentKey) return { ...key, role: "signs" };
    if (index > current) return { ...key, role: "next" };
    return {
      ...key,
      role: "superseded",
      supersededAtMs: Date.parse(byAge[index + 1]?.from ?? key.from),
    };
  });
}

/** `keys` is the new list. */
export type Rotation =
  | { step: "add" | "drop" | "replace"; keys: AskerKey[]; added?: AskerKey; dropped: AskerKey[] }
  | { step: "wait"; reason: string };

/**
 * Plans the next safe step: drops the keys that are over, or else adds a key that signs in a day. `isEmergency` replaces all keys at
 * once.
 */
export function planRotation(request: {
  keys: readonly AskerKey[];
  nowMs: number;
  isEmergency: boolean;
}): Rotation {
  const { keys, nowMs, isEmergency } = request;
  if (isEmergency) {
    const added = createKey({ fromMs: nowMs, nowMs });
    return { step: "replace", keys: [added], added, dropped: [...keys] };
  }
  const ranked = rankKeys(keys, nowMs);
  // Also one that signs before its time because there is no other: a key that is older than it would sign at once.
  const next = ranked.find(({ from }) => Date.parse(from) > nowMs);
  if (next !== undefined)
    return {
      step: "wait",
      reason: `The key ${next.id} signs from ${next.from}. Until then its verifiers learn it; another step now could sign with a key that they do not know`,
    };
  const superseded = ranked.filter(({ role }) => role === "superseded");
  const isOver = ({ supersededAtMs = nowMs }: RankedKey) => nowMs - supersededAtMs > dayMs;
  const dropped = superseded.filter(isOver).map(({ id, from }) => ({ id, from }));
  if (dropped.length > 0) {
    const ids = new Set(dropped.map(({ id }) => id));
    return { step: "drop", keys: keys.filter(({ id }) => !ids.has(id)), dropped };
  }
  const [young] = superseded;
  if (young !== undefined)
    return {
      step: "wait",
      reason: `The key ${young.id} signed until ${toTime(young.supersededAtMs ?? nowMs)}, less than a day ago. Verifiers may still need it`,
    };
  const added = createKey({ fromMs: nowMs + dayMs, nowMs });
  return { step: "add", keys: [...keys, added], added, dropped: [] };
}

/** Named after the second, so that no name comes back: on one machine the name is that of the key's file. */
function createKey({ fromMs, nowMs }: { fromMs: number; nowMs: number }): AskerKey {
  const id = toTime(nowMs).toLowerCase().replaceAll(":", "");
  return { id, from: toTime(fromMs) };
}

function toTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
