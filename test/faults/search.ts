/** Which plans are run: every one with one or two faults, or as many as wanted with faults that chance draws. */
import { earlierDeaths } from "./deaths.ts";
import type { EngineName } from "./engines.ts";
import type { Fault } from "./faults.ts";
import { manners, type Outage, parties } from "./outages.ts";
import { createRandom } from "./random.ts";
import { type FateOf, type Run, runPlan } from "./run-plan.ts";
import { hostileAnswers } from "./stories.ts";

/** `mix`: with two versions (`versions/mix.ts`). */
export type Place = { story: string; engine: EngineName; mix?: string | undefined };

/** `onRun` says whether to go on. */
type Watch = { onRun: (run: Run) => boolean | Promise<boolean> };

/** One of several parts of a search, so that processes can share it. */
export type Part = { number: number; of: number };

const usual = new Map<string, Run>();

/** The story without a fault in a quiet world; what a host says is to cost no more operations than any other answer. */
export async function usualRun({ story: name, engine }: Place): Promise<Run> {
  const story = name in hostileAnswers ? "sync" : name;
  const key = `${story}/${engine}`;
  const cachedValue =
    usual.get(key) ?? (await runPlan({ plan: { story, engine, seed: 0, faults: [] } }));
  usual.set(key, cachedValue);
  return cachedValue;
}

/**
 * Every kind of fault at every operation; with the depth 2, each of these runs again with every later one besides, where
 * of two deaths that come to the same the earlier one is enough.
 */
export async function searchAll({
  place,
  depth,
  part,
  onRun,
}: Watch & { place: Place; depth: 1 | 2; part: Part }): Promise<void> {
  const usualOperations = (await usualRun(place)).steps.length;
  const base = await runPlan({ plan: { ...place, seed: 0, faults: [] }, usualOperations });
  const run = (faults: Fault[]) =>
    runPlan({ plan: { ...place, seed: 0, faults }, usualOperations });
  const isKnown = knownDeaths({ run: base, afterAt: 0 });
  let isOver = part.number === 1 && !(await onRun(base));
  for (const [index, first] of laterFaults({ run: base, afterAt: 0 }).entries()) {
    if (isOver) return;
    if (index % part.of !== part.number - 1) continue;
    const one = await run([first]);
    isOver = !(await onRun(one));
    if (depth === 1 || isKnown(first)) continue;
    const isKnownSecond = knownDeaths({ run: one, afterAt: first.at });
    for (const second of laterFaults({ run: one, afterAt: first.at })) {
      if (isOver) return;
      if (!isKnownSecond(second)) isOver = !(await onRun(await run([first, second])));
    }
  }
}

/** Every run has a seed of its own, so that it can be repeated alone. */
export async function searchRandomly({
  places,
  seed,
  runs,
  onRun,
}: Watch & { places: readonly Place[]; seed: number; runs: number }): Promise<void> {
  for (let number = 0; number < runs; number++) {
    const place = places[number % places.length];
    if (place === undefined) return;
    const usual = await usualRun(place);
    const ownSeed = ((seed * 1_000_003 + number) % 4_294_967_295) + 1;
    const { fateOf, outages } = drawn({ seed: ownSeed, usual });
    const plan = { ...place, seed: ownSeed, faults: [], outages };
    const run = await runPlan({ plan, fateOf, usualOperations: usual.steps.length });
    if (!(await onRun(run))) return;
  }
}

function laterFaults({ run, afterAt }: { run: Run; afterAt: number }): Fault[] {
  return run.steps
    .filter(({ at }) => at > afterAt)
    .flatMap(({ at, possible }) => possible.map((kind) => ({ at, kind })));
}

/** Says of a fault whether it is the death that an earlier one is. */
function knownDeaths({
  run: { steps },
  afterAt,
}: {
  run: Run;
  afterAt: number;
}): (fault: Fault) => boolean {
  const deaths = earlierDeaths({ steps, afterAt });
  return ({ at, kind }) => kind === "dies_before" && deaths.has(at);
}

/**
 * One to six faults anywhere; in every fourth run a bad patch besides, operations in a row of which every second one fails;
 * and in some an outage.
 */
function drawn({ seed, usual }: { seed: number; usual: Run }): {
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
  usual: Run;
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
