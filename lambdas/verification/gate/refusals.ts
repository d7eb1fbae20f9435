/** Limits how often Sekisho tells people that a request was refused, so that no one can flood a channel or a worker. */

import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import { changeRecord } from "@sekisho/runtime/engine/records.ts";
import * as z from "zod";
import type { Requester } from "./rules.ts";

/** A person gets the same refusal once per window in one channel or thread. */
export const refusalWindowMs = 15 * 60_000;
/** The limit per window for all people of one workspace who may not ask. */
export const maxRefusalsPerTeam = 30;
/** The limit for one of them, so that no one uses up the budget of the others by writing in many channels. */
export const maxRefusalsPerUser = 3;
/** The limit of notices for one person who may ask, for example about quotas or about buttons for others. */
export const maxNoticesPerUser = 10;
/** Allows for clock differences between readers of the record. */
const clockMarginMs = 60_000;
/** After the first message of a person, further ones stay silent this long, while the first one is being refused. */
const reservedMs = 10_000;
/** The limit of entries in the memory of the process. An entry is for a person, a channel or a workspace. */
const maxRemembered = 10_000;

/**
 * A record in the task store with the refusals of the current window. There is one per workspace for the people who may not ask, and one
 * per person who may.
 */
const refusalsSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("refusals"),
  expiresAtMs: z.int(),
  shown: z.array(z.object({ user: z.string(), about: z.string(), atMs: z.int() })),
});
export type RefusalRecord = z.infer<typeof refusalsSchema>;

export function parseRefusalRecord(json: unknown): RefusalRecord {
  return checkRecord({ schema: refusalsSchema, json });
}

export type Refusals = {
  /**
   * True if a message of a person who may not ask is dropped without a refusal. Uses only the memory of this process, so that a flood costs
   * nothing. The first message is not silent and reserves the refusal, so further messages are silent meanwhile.
   */
  isSilent(request: { requester: Requester; requestId: string }): boolean;
  /** Claims the refusal of a person who may not ask: once per channel and window, within the budgets. False if the store is unavailable. */
  claim(request: { requester: Requester }): Promise<boolean>;
  /** Claims a notice for a person who may ask: once per `kind`, thread and window. These have a separate budget. */
  claimNotice(request: {
    requester: Requester;
    kind: string;
    threadTs: string | undefined;
  }): Promise<boolean>;
};

type Budget = { recordId: string; perUser: number; inTotal: number };
type Entry = { user: string; about: string };
/** `by` is the request id of the message that reserved the refusal. */
type Remembered = { untilMs: number } & ({ isShown: true } | { isShown: false; by: string });

export function createRefusals({
  store,
  now,
}: {
  store: TaskStore<RefusalRecord>;
  now: () => number;
}): Refusals {
  const silences = new Map<string, Remembered>();

  function remember(key: string, silence: Remembered): void {
    silences.delete(key);
    silences.set(key, silence);
    const [oldest] = silences.keys();
    if (silences.size > maxRemembered && oldest !== undefined) silences.delete(oldest);
  }

  function silenceOf(key: string): Remembered | undefined {
    const silence = silences.get(key);
    return silence !== undefined && silence.untilMs > now() ? silence : undefined;
  }

  async function claimEntry(budget: Budget, entry: Entry): Promise<boolean> {
    const { recordId: id } = budget;
    const nowMs = now();
    const keys = listKeys(budget, entry);
    // A reservation does not count, because it was made for this claim.
    const isSilent = [keys.record, keys.user, keys.location].some(
      (key) => silenceOf(key)?.isShown === true,
    );
    if (isSilent) return false;
    try {
      const { isClaimed, untilMs, scope } = await changeRecord({
        store,
        id,
        none: (): RefusalRecord => ({
          id,
          revision: 1,
          state: "refusals",
          expiresAtMs: 0,
          shown: [],
        }),
        decide: (item) => decideRefusal(item, budget, entry, nowMs),
      });
      remember(keys[scope], { untilMs, isShown: true });
      return isClaimed;
    } catch {
      return false;
    }
  }

  return {
    isSilent({ requester, requestId }) {
      const keys = listKeys(createStrangerBudget(requester), createEntry(requester));
      const silence = silenceOf(keys.location);
      const isTaken = silence !== undefined && (silence.isShown || silence.by !== requestId);
      if (isTaken || silenceOf(keys.user) !== undefined || silenceOf(keys.record) !== undefined)
        return true;
      remember(keys.location, { untilMs: now() + reservedMs, isShown: false, by: requestId });
      return false;
    },

    claim: ({ requester }) => claimEntry(createStrangerBudget(requester), createEntry(requester)),

    async claimNotice({ requester, kind, threadTs = "" }) {
      const { team, channel, user } = requester;
      const budget = {
        recordId: `notices:${team}/${user}`,
        perUser: maxNoticesPerUser,
        inTotal: maxNoticesPerUser,
      };
      return claimEntry(budget, { user, about: `${kind} ${channel}/${threadTs}` });
    },
  };
}

function createStrangerBudget({ team }: Requester): Budget {
  return { recordId: `refusals:${team}`, perUser: maxRefusalsPerUser, inTotal: maxRefusalsPerTeam };
}

function createEntry({ channel, user }: Requester): Entry {
  return { user, about: channel };
}

/** Returns the keys of the three scopes: one person in one channel or thread, one person, and all people of the record. */
function listKeys({ recordId }: Budget, { user, about }: Entry) {
  return {
    record: recordId,
    user: `${recordId} ${user}`,
    location: `${recordId} ${user} ${about}`,
  };
}

/** No further refusal is shown in `scope` until `untilMs`. */
type Decision = { isClaimed: boolean; untilMs: number; scope: "location" | "user" | "record" };

function decideRefusal(
  item: RefusalRecord,
  { perUser, inTotal }: Budget,
  { user, about }: Entry,
  nowMs: number,
): { item: RefusalRecord; result: Decision } {
  const recentEntries = item.shown.filter(({ atMs }) => atMs + refusalWindowMs > nowMs);
  const toUser = recentEntries.filter((entry) => entry.user === user);
  const same = toUser.filter((entry) => entry.about === about);
  const silent = (scope: Decision["scope"], shownEntries: typeof recentEntries) => {
    const untilMs = Math.min(...shownEntries.map(({ atMs }) => atMs)) + refusalWindowMs;
    return { item, result: { isClaimed: false, untilMs, scope } };
  };
  if (same.length > 0) return silent("location", same);
  if (toUser.length >= perUser) return silent("user", toUser);
  if (recentEntries.length >= inTotal) return silent("record", recentEntries);
  const untilMs = nowMs + refusalWindowMs;
  return {
    item: {
      ...item,
      shown: [...recentEntries, { user, about, atMs: nowMs }],
      expiresAtMs: untilMs + clockMarginMs,
    },
    result: { isClaimed: true, untilMs, scope: "location" },
  };
}
