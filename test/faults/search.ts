/** Which plans are run: every one with one or two faults, or as many as wanted with faults that chance draws. */
import { earlierDeaths } from "./deaths.ts";
import type { EngineName } from "./engines.ts";
import type { Fault, Kind } from "./faults.ts";
import { createRandom } from "./random.ts";
import { type FateOf, type Run, runPlan } from "./run-plan.ts";
import { worldMs } from "./virtual-time.ts";
import type { Strike } from "./world.ts";

export type Place = { story: string; engine: EngineName };

/** `onRun` says whether to go on. */
type Watch = { onRun: (run: Run) => boolean | Promise<boolean> };

/** Of what is to be searched, one part of so many, so that several processes can share it. */
export type Part = { number: number; of: number };

const usual = new Map<string, Run>();

/** The story without a fault in a quiet world. */
export async function usualRun({ story, engine }: Place): Promise<Run> {
  const key = `${story}/${engine}`;
  const known = usual.get(key) ?? (await runPlan({ plan: { story, engine, seed: 0, faults: [] } }));
  usual.set(key, known);
  return known;
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
  const base = await usualRun(place);
  const usualOperations = base.steps.length;
  const run = (faults: Fault[]) => runPlan({ plan: { ...place, seed: 0, faults }, usualOperations });
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
    const usualOperations = (await usualRun(place)).steps.length;
    const ownSeed = ((seed * 1_000_003 + number) % 4_294_967_295) + 1;
    const fateOf = drawnFates({ seed: ownSeed, usualOperations });
    const run = await runPlan({ plan: { ...place, seed: ownSeed, faults: [] }, fateOf, usualOperations });
    if (!(await onRun(run))) return;
  }
}

function laterFaults({ run, afterAt }: { run: Run; afterAt: number }): Fault[] {
  return run.steps
    .filter(({ at }) => at > afterAt)
    .flatMap(({ at, possible }) => possible.map((kind) => ({ at, kind })));
}

/** Says of a fault whether it is the death that an earlier one is. */
function knownDeaths({ run: { steps }, afterAt }: { run: Run; afterAt: number }): (fault: Fault) => boolean {
  const deaths = earlierDeaths({ steps, afterAt });
  return ({ at, kind }) => kind === "dies_before" && deaths.has(at);
}

/**
 * One to six faults anywhere; in every fourth run a bad patch besides, operations in a row of which every second one fails;
 * and in every eighth a party that is away for up to ten minutes.
 */
function drawnFates({ seed, usualOperations }: { seed: number; usualOperations: number }): FateOf {
  const chance = createRandom(seed ^ 0x5bd1e995);
  const upTo = (most: number) => Math.floor(chance() * most);
  const anywhere = () => 1 + upTo(usualOperations * 1.3);
  const single = new Set(Array.from({ length: 1 + upTo(6) }, anywhere));
  const patchAt = chance() < 0.25 ? anywhere() : Number.POSITIVE_INFINITY;
  const patchEnd = patchAt + 4 + upTo(16);
  const party = chance() < 0.125 ? awayParties[upTo(awayParties.length)] : undefined;
  const awayAt = anywhere();
  const awayMs = upTo(600_000);
  let sinceMs: number | undefined;
  return ({ at, point, possible }) => {
    if (at === awayAt) sinceMs = worldMs();
    const isAway = party !== undefined && sinceMs !== undefined && worldMs() < sinceMs + awayMs;
    if (isAway && point.startsWith(party)) {
      return struck(possible.find((kind) => kind === "refused") ?? possible.find((kind) => kind === "lost"));
    }
    const isHit = single.has(at) || (at >= patchAt && at < patchEnd && chance() < 0.5);
    return isHit ? struck(possible[upTo(possible.length)]) : undefined;
  };
}

function struck(kind: Kind | undefined): Strike | undefined {
  return kind === undefined ? undefined : { kind };
}

const awayParties = ["slack.", "queue.send", "store.", "transport.", "tasks.", "work.send"] as const;
