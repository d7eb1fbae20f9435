/** Tells the answer of a model while it is written, no oftener than anybody hears of it. */
import { maxPartialTextLength } from "../../../contracts/limits.ts";
import type { TaskUpdate } from "./agent.ts";

const intervalMs = 1000;

/** What there is to tell at this text: nothing while the last time is less than a second ago, nor once all that is told of an answer has been. */
export function createPartialReporter({ now }: { now: () => number }): (text: string) => TaskUpdate[] {
  let reported = "";
  let reportedAtMs = now();
  return (text) => {
    const isNews = text !== reported && reported.length < maxPartialTextLength;
    if (!isNews || now() - reportedAtMs < intervalMs) return [];
    reportedAtMs = now();
    reported = text;
    return [{ type: "progress", partial: text }];
  };
}
