/** A run as a list of numbered steps that a person can read. */
import { compact } from "./plan.ts";
import type { Run } from "./run-plan.ts";
import { namedFaults } from "./scenario.ts";

export function tell({ plan, steps, violations }: Run): string {
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
