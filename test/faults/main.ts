/** One search or one replay, with progress on the way and the figures at the end. */

import { type Fault, kinds } from "./faults.ts";
import type { Options } from "./options.ts";
import { compact, type Plan, parsePlan } from "./plan.ts";
import { type Run, runPlan } from "./run-plan.ts";
import { namedFaults, play } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { type Place, searchAll, searchRandomly, usualRun } from "./search.ts";
import { stories } from "./stories.ts";
import { realMs } from "./virtual-time.ts";

const progressMs = 5000;
/** Failures that are told in full, in all and of those that violate the same; further ones are only counted. */
const maxTold = 12;
const maxToldAlike = 2;
/** After so many failures the point is made; of a mutant one is enough. */
const maxFailures = 200;
/** A real turn of the event loop, for signals and for the garbage that waits for one. */
const runsPerTurn = 50;

/** Resolves to the exit code: 0 where nothing is violated. Rejects with an Error for a person. */
export async function main(options: Options): Promise<number> {
  if (options.scenarios !== undefined) return playScenarios(options.scenarios);
  return options.replay === undefined ? search(options) : replay(options.replay);
}

/** One is told step by step; of all only what went wrong. */
async function playScenarios(name: string): Promise<number> {
  const wanted = scenarios.filter((scenario) => name === "all" || scenario.name === name);
  if (wanted.length === 0) {
    throw new Error(
      `There is no scenario "${name}": there are ${scenarios.map((one) => one.name).join(", ")}.`,
    );
  }
  let failed = 0;
  for (const scenario of wanted) {
    const { run, missed } = await play(scenario);
    const holds = run.violations.length === 0 && missed.length === 0;
    if (!holds) failed += 1;
    process.stdout.write(`SCENARIO ${scenario.name}: ${scenario.what}\n`);
    if (name !== "all" || !holds) process.stdout.write(`${tell(run)}\n`);
    for (const fault of missed) process.stdout.write(`DID NOT STRIKE: ${JSON.stringify(fault)}\n`);
    process.stdout.write(`${holds ? "holds" : "FAILS"}\n\n`);
  }
  process.stdout.write(`${wanted.length} scenarios, ${failed} failures\n`);
  return failed > 0 ? 1 : 0;
}

async function replay(text: string): Promise<number> {
  const plan = parsePlan(text);
  const { steps } = await usualRun(plan);
  const run = await runPlan({ plan, usualOperations: steps.length, isTold: true });
  process.stdout.write(`${tell(run)}\n`);
  return run.violations.length > 0 ? 1 : 0;
}

async function search({
  seed,
  runs,
  seconds,
  depth,
  part,
  mutant,
  ...where
}: Options): Promise<number> {
  const places = placesOf(where);
  const figures = createFigures();
  const texts = new Set<string>();
  const toldAlike = new Map<string, number>();
  const endMs = realMs() + 1000 * seconds;
  let nextProgressMs = realMs() + progressMs;
  let isInterrupted = false;
  let count = 0;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      isInterrupted = true;
    });
  }

  async function onRun(run: Run): Promise<boolean> {
    figures.count(run);
    if (run.violations.length > 0) await report(run);
    count += 1;
    if (count % runsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    if (realMs() > nextProgressMs) {
      nextProgressMs = realMs() + progressMs;
      process.stderr.write(`${figures.text().split("\n").at(-1)}\n`);
    }
    return (
      !isInterrupted &&
      realMs() < endMs &&
      figures.failed() < (mutant === undefined ? maxFailures : 1)
    );
  }

  async function report(found: Run): Promise<void> {
    const kind = found.violations.map(({ invariant }) => invariant).join(" ");
    const alike = (toldAlike.get(kind) ?? 0) + 1;
    if (texts.size >= maxTold || alike > maxToldAlike) return;
    toldAlike.set(kind, alike);
    const usualOperations = (await usualRun(found.plan)).steps.length;
    const shortest = await shrink({ run: found, usualOperations });
    const plan = compact(shortest.plan);
    if (texts.has(plan)) return;
    texts.add(plan);
    const run = await runPlan({ plan: shortest.plan, usualOperations, isTold: true });
    process.stdout.write(`${tell(run)}\n\n`);
  }

  if (depth === undefined) await searchRandomly({ places, seed, runs, onRun });
  else for (const place of places) await searchAll({ place, depth, part, onRun });
  process.stdout.write(`${figures.text()}\n`);
  return figures.failed() > 0 ? 1 : 0;
}

function placesOf({
  stories: wanted,
  engines,
  mixes,
}: Pick<Options, "stories" | "engines" | "mixes">): Place[] {
  const names = stories.map(({ name }) => name);
  const unknown = wanted?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no story "${unknown}": there are ${names.join(", ")}.`);
  const places = (wanted ?? names).flatMap((story) => engines.map((engine) => ({ story, engine })));
  return mixes.length === 0
    ? places
    : places.flatMap((place) => mixes.map((mix) => ({ ...place, mix })));
}

type Figures = {
  count(run: Run): void;
  /** One line for each story and engine, and one for all. */
  text(): string;
  failed(): number;
};

type Row = { runs: number; faults: number; exempt: number; failed: number };

function createFigures(): Figures {
  const startMs = realMs();
  const rows = new Map<string, Row>();

  function sum(): Row {
    const total = { runs: 0, faults: 0, exempt: 0, failed: 0 };
    for (const row of rows.values()) {
      total.runs += row.runs;
      total.faults += row.faults;
      total.exempt += row.exempt;
      total.failed += row.failed;
    }
    return total;
  }

  return {
    count({ plan, violations, isExempt }) {
      const key = `${plan.story} on ${plan.engine}`;
      const row = rows.get(key) ?? { runs: 0, faults: 0, exempt: 0, failed: 0 };
      rows.set(key, row);
      row.runs += 1;
      row.faults += plan.faults.length;
      if (isExempt) row.exempt += 1;
      if (violations.length > 0) row.failed += 1;
    },
    text() {
      const total = sum();
      const seconds = (realMs() - startMs) / 1000;
      const lines = [...rows].map(([name, row]) => `${name.padEnd(20)} ${describe(row)}`);
      const speed = `in ${seconds.toFixed(1)} s, ${((1000 * seconds) / Math.max(1, total.runs)).toFixed(2)} ms each`;
      return [...lines, `${"all".padEnd(20)} ${describe(total)}, ${speed}`].join("\n");
    },
    failed: () => sum().failed,
  };
}

function describe({ runs, faults, exempt, failed }: Row): string {
  return `${runs} runs, ${faults} faults, ${exempt} exempt, ${failed} failures`;
}

/** Drops faults and the world's restlessness, then takes simpler kinds, then earlier operations, as long as it still fails. */
async function shrink({
  run,
  usualOperations,
  maxRuns = 400,
}: {
  run: Run;
  usualOperations: number;
  maxRuns?: number;
}): Promise<Run> {
  const [wanted] = run.violations;
  let best = run;
  let left = maxRuns;

  async function isBetter(plan: Plan): Promise<boolean> {
    if (left <= 0) return false;
    left -= 1;
    const tried = await runPlan({ plan, usualOperations });
    const fails = tried.violations.some(({ invariant }) => invariant === wanted?.invariant);
    if (fails) best = tried;
    return fails;
  }

  for (let isShrinking = true; isShrinking; ) {
    isShrinking = false;
    for (const plan of simpler(best.plan)) {
      if (!(await isBetter(plan))) continue;
      isShrinking = true;
      break;
    }
  }
  return best;
}

function* simpler(plan: Plan): Generator<Plan> {
  const { faults, outages = [] } = plan;
  for (const index of outages.keys()) yield { ...plan, outages: outages.toSpliced(index, 1) };
  if (plan.seed !== 0) yield { ...plan, seed: 0 };
  for (const index of faults.keys()) yield { ...plan, faults: faults.toSpliced(index, 1) };
  for (const [index, { at, kind }] of faults.entries()) {
    for (const simple of kinds.slice(0, kinds.indexOf(kind)))
      yield withFault(index, { at, kind: simple });
  }
  for (const [index, outage] of outages.entries()) {
    const { parties, seconds } = outage;
    const alone =
      parties.length > 1 ? parties.map((party) => ({ ...outage, parties: [party] })) : [];
    const shorter = [0.25, 0.5, 0.9].map((share) => ({
      ...outage,
      seconds: Math.max(1, Math.floor(share * seconds)),
    }));
    for (const less of [...alone, ...shorter.filter((shorter) => shorter.seconds < seconds)]) {
      yield { ...plan, outages: outages.with(index, less) };
    }
  }
  for (const [index, { at, kind }] of faults.entries()) {
    const before = faults[index - 1]?.at ?? 0;
    for (const earlier of [Math.floor((before + at) / 2), at - 1]) {
      if (earlier > before && earlier < at) yield withFault(index, { at: earlier, kind });
    }
  }

  function withFault(index: number, fault: Fault): Plan {
    return { ...plan, faults: faults.with(index, fault) };
  }
}

function tell({ plan, steps, violations }: Run): string {
  const startMs = steps[0]?.atMs ?? 0;
  const lines = steps.map(({ at, atMs, process, point, about, detail, fate }) => {
    const seconds = ((atMs - startMs) / 1000).toFixed(3);
    const what = `${String(at).padStart(4)} ${seconds.padStart(10)} s  ${process.padEnd(15)} ${point.padEnd(19)} ${about}${detail && ` ${detail}`}`;
    return fate === undefined ? what : `${what}  <== ${fate}`;
  });
  return [
    `${plan.story} on ${plan.engine}, ${plan.faults.length} fault(s):`,
    ...lines,
    ...violations.map(({ invariant, detail }) => `VIOLATED: ${invariant} (${detail})`),
    ...(plan.faults.length === 0 ? [] : [`As a scenario:\n${namedFaults(steps)}`]),
    `Repeat it with: npm run faults -- --replay '${compact(plan)}'`,
  ].join("\n");
}
