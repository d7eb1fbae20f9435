/** The plan of a run as a list of moments, each with what is done then. */
import type { People } from "./people.ts";
import type { Plan, Zone } from "./plan.ts";

export type Moment = { atMs: number; act: () => void | Promise<void> };

/** In order. */
export function momentsOf({
  plan,
  people,
  kill,
}: {
  plan: Plan;
  people: People;
  kill: (zone: Zone) => Promise<void>;
}): Moment[] {
  const moments = plan.asks.flatMap((ask): Moment[] => [
    { atMs: ask.atMs, act: () => people.ask(ask) },
    ...(ask.againAtMs === undefined ? [] : [{ atMs: ask.againAtMs, act: () => people.tellAgain(ask) }]),
    ...(ask.cancelAtMs === undefined ? [] : [{ atMs: ask.cancelAtMs, act: () => people.cancel(ask) }]),
  ]);
  moments.push(...plan.kills.map(({ atMs, zone }) => ({ atMs, act: () => kill(zone) })));
  return moments.sort((a, b) => a.atMs - b.atMs);
}
