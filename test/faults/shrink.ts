/** From a run that failed to the shortest plan that fails in the same way. */
import { type Fault, kinds } from "./faults.ts";
import type { Plan } from "./plan.ts";
import { type Run, runPlan } from "./run-plan.ts";

/** Drops faults and the world's restlessness, then takes simpler kinds, then earlier operations, as long as it still fails. */
export async function shrink({
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
    for (const simple of kinds.slice(0, kinds.indexOf(kind))) yield withFault(index, { at, kind: simple });
  }
  for (const [index, outage] of outages.entries()) {
    const { parties, seconds } = outage;
    const alone = parties.length > 1 ? parties.map((party) => ({ ...outage, parties: [party] })) : [];
    const shorter = [0.25, 0.5, 0.9].map((share) => ({ ...outage, seconds: Math.max(1, Math.floor(share * seconds)) }));
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
