/**
 * Moments of a story: all records, all queue messages, and what is in Slack, as plain data. A world can begin in one. So the records of an
 * earlier version, kept as files, are continued by this one.
 */

import type { Post } from "../world/memory-slack.ts";
import type { Asked } from "./people.ts";
import type { Plan } from "./plan.ts";
import type { Message } from "./sim-queue.ts";
import type { SimSlack } from "./sim-slack.ts";
import { worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

/** What people and Slack had seen and done until then. */
const seen = [
  "doubled",
  "streamedAtMs",
  "agentRuns",
  "said",
  "votes",
  "isRetryTaken",
  "ephemeralMessages",
  "canceledAtHome",
] as const;
/** The same, by keys. */
const seenByKey = [
  "sessions",
  "homes",
  "turns",
  "acceptedAtMs",
  "endedAtMs",
  "questionsShownAtMs",
] as const;

type Seen = Pick<World, (typeof seen)[number]>;
type SeenByKey = {
  [K in (typeof seenByKey)[number]]: [string, World[K] extends Map<string, infer V> ? V : never][];
};

export type Moment = Pick<Plan, "story" | "engine"> & {
  atMs: number;
  /** How many ids were given. */
  ids: number;
  /** The texts of records by the names of their stores, and the messages by the names of their queues. */
  stores: Record<string, string[]>;
  queues: Record<string, Message[]>;
  slack: { count: number; posts: Post[] };
  /** The request ids of the messages that were taken. */
  taken: string[];
  seen: Seen;
  seenByKey: SeenByKey;
};

export function momentOf(about: {
  world: World;
  plan: Plan;
  slack: SimSlack;
  asked: readonly Asked[];
  ids: number;
}): Moment {
  const { world, plan, slack, asked, ids } = about;
  const { story, engine } = plan;
  const moment = {
    ...{ story, engine, atMs: worldMs(), ids },
    stores: Object.fromEntries([...world.stores].map(([name, texts]) => [name, texts()])),
    queues: Object.fromEntries([...world.queues].map(([name, messages]) => [name, [...messages]])),
    slack: { count: slack.count(), posts: slack.posts },
    taken: asked.filter(({ isTaken }) => isTaken).map(({ requestId }) => requestId),
    seen: Object.fromEntries(seen.map((name) => [name, world[name]])) as Seen,
    seenByKey: Object.fromEntries(seenByKey.map((name) => [name, [...world[name]]])) as SeenByKey,
  };
  return JSON.parse(JSON.stringify(moment)) as Moment;
}

/** What a world begins with. Every process has ended, and so have the agents. */
export function seenUntil(
  moment: Moment | undefined,
): Partial<Pick<World, keyof Seen | keyof SeenByKey>> {
  if (moment === undefined) return {};
  const { seen: plain, seenByKey: keyed, atMs } = structuredClone(moment);
  const agentRuns = plain.agentRuns.map((run) =>
    run.end === "working" ? { ...run, end: "died" as const, untilMs: atMs } : run,
  );
  const maps = Object.fromEntries(
    seenByKey.map((name) => [name, new Map<string, unknown>(keyed[name])]),
  );
  return { ...plain, agentRuns, ...maps };
}
