/** A run whose faults are addressed by what they hit, so that it stays the same run when the product's operations are counted anew. */
import type { EngineName } from "./engines.ts";
import type { Kind, Point } from "./faults.ts";
import type { Outage } from "./outages.ts";
import { outside } from "./processes.ts";
import { type FateOf, type Run, runPlan } from "./run-plan.ts";
import { usualRun } from "./search.ts";
import { later } from "./virtual-time.ts";
import type { Step } from "./world.ts";

/** The `nth` operation (counted from 1) at that point that is about exactly that. */
type Address = { point: Point; about: string; nth?: number };

/** Hits that operation, and `times` - 1 more of its like. */
export type NamedFault = Address & {
  times?: number;
  kind: Kind;
  /** A slow operation is done just before this one. */
  landsBefore?: Address;
};

export type Scenario = {
  name: string;
  /** One sentence about the run. */
  what: string;
  story: string;
  engine: EngineName;
  /** 0 unless it needs chance. */
  seed?: number;
  faults: readonly NamedFault[];
  outages?: readonly Outage[];
  /** Which of two versions does what (`versions/names.ts`). */
  mix?: string;
};

/** `missed`: faults that did not strike as often as they should have. The run then proves nothing. */
export type Played = { run: Run; missed: readonly NamedFault[] };

export async function play(scenario: Omit<Scenario, "name" | "what">): Promise<Played> {
  const { story, engine, seed = 0, faults, outages = [], mix } = scenario;
  const usualOperations = (await usualRun({ story, engine })).steps.length;
  const { fateOf, missed } = namedFates(faults);
  const run = await runPlan({
    plan: { story, engine, seed, faults: [], outages, mix },
    fateOf,
    usualOperations,
    isTold: true,
  });
  return { run, missed: missed() };
}

function namedFates(faults: readonly NamedFault[]): { fateOf: FateOf; missed: () => NamedFault[] } {
  const left = new Map(faults.map((fault) => [fault, fault.times ?? 1]));
  const heldBack = new Map<NamedFault, () => void>();
  const counts = new Map<string, number>();
  return {
    fateOf({ point, about, possible }) {
      const key = `${point} ${about}`;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      for (const [held, land] of heldBack) {
        const { nth = 1, ...oldValue } = held.landsBefore ?? { point, about };
        if (oldValue.point !== point || oldValue.about !== about || count !== nth) continue;
        heldBack.delete(held);
        outside(() => later({ delayMs: 1, run: land }));
      }
      const fault = faults.find(
        ({ nth = 1, times = 1, ...known }) =>
          known.point === point && known.about === about && count >= nth && count < nth + times,
      );
      if (fault === undefined || !possible.includes(fault.kind)) return undefined;
      left.set(fault, (left.get(fault) ?? 0) - 1);
      if (fault.landsBefore === undefined) return { kind: fault.kind };
      return { kind: fault.kind, holdBack: (land) => void heldBack.set(fault, land) };
    },
    missed: () => faults.filter((fault) => left.get(fault) !== 0 || heldBack.has(fault)),
  };
}

/** The faults of a told run in this form, as lines that can be pasted into `scenarios.ts`. */
export function namedFaults(steps: readonly Step[]): string {
  const counts = new Map<string, number>();
  const faults: (NamedFault & { nth: number; times: number })[] = [];
  for (const { point, about, fate: kind } of steps) {
    const key = `${point} ${about}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    if (kind === undefined) continue;
    const before = faults.find(
      (fault) =>
        fault.point === point &&
        fault.about === about &&
        fault.kind === kind &&
        fault.nth + fault.times === nth,
    );
    if (before === undefined) faults.push({ point, about, nth, times: 1, kind });
    else before.times += 1;
  }
  return faults.map(sourceOf).join("\n");
}

function sourceOf({ point, about, nth = 1, times = 1, kind }: NamedFault): string {
  const count = `${nth > 1 ? ` nth: ${nth},` : ""}${times > 1 ? ` times: ${times},` : ""}`;
  return `{ point: "${point}", about: ${JSON.stringify(about)},${count} kind: "${kind}" },`;
}
