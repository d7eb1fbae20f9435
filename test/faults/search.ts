/** Which plans are run: every one with one or two faults, or as many as wanted with faults that chance draws. */
import { earlierDeaths } from "./deaths.ts";
import { drawFaults, seedOf } from "./draw.ts";
import type { EngineName } from "./engines.ts";
import type { Fault } from "./faults.ts";
import { type Run, runPlan } from "./run-plan.ts";
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
    const ownSeed = seedOf({ seed, number });
    const { fateOf, outages } = drawFaults({ seed: ownSeed, usual });
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
