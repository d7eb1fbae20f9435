/** Several tellings of one way become one: what two sources know of is one step. */
import type { PictureStep, SourceStep } from "./picture-step.ts";

/** A record is stamped before it is written, a line after that; a store may be slow in between. */
const sameWithinMs = 5000;

/** In order of time. Of steps that are the same, the title and the moment are those of the first source, whose steps know most. */
export function mergeSteps(sources: readonly (readonly SourceStep[])[]): PictureStep[] {
  const merged: SourceStep[] = [];
  for (const source of sources) {
    /** Those of earlier sources that this one has not told of yet. */
    const open = merged.map((told, at) => ({ at, told }));
    for (const { key, step } of source) {
      const found = nearest({ open, key, atMs: step.atMs });
      if (found === undefined) merged.push({ key, step });
      else {
        open.splice(open.indexOf(found), 1);
        merged[found.at] = { key, step: both(found.told.step, step) };
      }
    }
  }
  return merged.map(({ step }) => step).sort((a, b) => a.atMs - b.atMs);
}

type Open = { at: number; told: SourceStep };

function nearest({ open, key, atMs }: { open: Open[]; key: string | undefined; atMs: number }): Open | undefined {
  if (key === undefined) return undefined;
  const away = ({ told }: Open) => Math.abs(told.step.atMs - atMs);
  const same = open.filter((each) => each.told.key === key && away(each) <= sameWithinMs);
  return same.sort((a, b) => away(a) - away(b))[0];
}

function both(first: PictureStep, second: PictureStep): PictureStep {
  return { ...second, ...first, detail: { ...second.detail, ...first.detail } };
}
