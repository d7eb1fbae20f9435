/** Draws the faults and outages of a random run. Imports no code of the product, so that it can draw for another checkout. */
import { manners, type Outage, parties } from "./outages.ts";
import { createRandom } from "./random.ts";
import type { FateOf, Run } from "./run-plan.ts";

type UsualRun = Pick<Run, "steps">;

/** The seed of the run with that number, counted from 0. */
export function seedOf({ seed, number }: { seed: number; number: number }): number {
  return ((seed * 1_000_003 + number) % 4_294_967_295) + 1;
}

/**
 * One to six faults anywhere; in every fourth run a bad patch besides, operations in a row of which every second one fails;
 * and in some an outage.
 */
export function drawFaults({ seed, usual }: { seed: number; usual: UsualRun }): {
  fateOf: FateOf;
  outages: Outage[];
} {
  const chance = createRandom(seed ^ 0x5bd1e995);
  const upTo = (most: number) => Math.floor(chance() * most);
  const anywhere = () => 1 + upTo(usual.steps.length * 1.3);
  const single = new Set(Array.from({ length: 1 + upTo(6) }, anywhere));
  const patchAt = chance() < 0.25 ? anywhere() : Number.POSITIVE_INFINITY;
  const patchEnd = patchAt + 4 + upTo(16);
  const outages = drawnOutages({ chance, usual });
  const fateOf: FateOf = ({ at, possible }) => {
    const isHit = single.has(at) || (at >= patchAt && at < patchEnd && chance() < 0.5);
    const kind = isHit ? possible[upTo(possible.length)] : undefined;
    return kind === undefined ? undefined : { kind };
  };
  return { fateOf, outages };
}

/** The lengths of outages, each with its share of the runs left by the ones before. Most runs are short. */
const lengths = [
  { upTo: 1 / 128, fromMinutes: 25 * 60, toMinutes: 30 * 60 },
  { upTo: 5 / 128, fromMinutes: 15, toMinutes: 8 * 60 },
  { upTo: 21 / 128, fromMinutes: 0.5, toMinutes: 15 },
];

/** An outage of one party, or of two at once, that begins near a moment at which something happens in the story. */
function drawnOutages({
  chance,
  usual: { steps },
}: {
  chance: () => number;
  usual: UsualRun;
}): Outage[] {
  const upTo = (most: number) => Math.floor(chance() * most);
  const share = chance();
  const length = lengths.find(({ upTo: most }) => share < most);
  if (length === undefined) return [];
  const minutes = length.fromMinutes + chance() * (length.toMinutes - length.fromMinutes);
  const beganMs = steps[0]?.atMs ?? 0;
  const atMs = steps[upTo(steps.length)]?.atMs ?? beganMs;
  const two = [0, 1]
    .map(() => parties[upTo(parties.length)])
    .filter((party) => party !== undefined);
  const away = chance() < 0.3 ? [...new Set(two)] : two.slice(0, 1);
  const manner = manners[upTo(manners.length)] ?? "lost";
  const fromSeconds = Math.max(0, Math.floor((atMs - beganMs) / 1000) + upTo(3) - 1);
  return [{ parties: away, fromSeconds, seconds: Math.floor(60 * minutes), manner }];
}
