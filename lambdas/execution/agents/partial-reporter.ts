/** Tells the answer of a model while it is written, no oftener than anybody hears of it. */
import { maxPartialTextLength } from "../../../contracts/limits.ts";
import type { TaskUpdate } from "./agent.ts";

const intervalMs = 1000;

/** What there is to tell at this text: nothing while the last time is less than a second ago, nor once all that is told of an answer has been. */
export function createPartialReporter({ now }: { now: () => number }): (text: string) => TaskUpdate[] {
  let told = "";
  let toldAtMs = now();
  return (text) => {
    const isNews = text !== told && told.length < maxPartialTextLength;
    if (!isNews || now() - toldAtMs < intervalMs) return [];
    toldAtMs = now();
    told = text;
    return [{ type: "progress", partial: text }];
  };
}
