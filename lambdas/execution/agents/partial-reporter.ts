/** Reports a model's answer while it is written. */
import { maxPartialTextLength } from "../../../contracts/limits.ts";
import type { TaskUpdate } from "./agent.ts";

/** The host stores what is reported as often as its platform allows. */
const intervalMs = 250;

/** Reports the text at most four times a second, and only up to the length that is shown to people. */
export function createPartialReporter({ now }: { now: () => number }): (text: string) => TaskUpdate[] {
  let reported = "";
  let reportedAtMs = now();
  return (text) => {
    const isNew = text !== reported && reported.length < maxPartialTextLength;
    if (!isNew || now() - reportedAtMs < intervalMs) return [];
    reportedAtMs = now();
    reported = text;
    return [{ type: "progress", partial: text }];
  };
}
