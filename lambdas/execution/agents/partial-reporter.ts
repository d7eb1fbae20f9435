/** Reports a model's answer while it is written. */
import { maxPartialTextLength } from "@sekisho/contracts/limits.ts";
import type { TaskUpdate } from "./agent.ts";

/** The host stores what is reported as often as its platform allows. */
const intervalMs = 250;

/** Reports the text at most four times a second, not before the first quarter of a second after `startedAtMs`, and only up to the length that is shown to people. Reads it only when a report is due. */
export function createPartialReporter({
  now,
  startedAtMs = now(),
}: {
  now: () => number;
  startedAtMs?: number;
}): (readText: () => string) => TaskUpdate[] {
  let reportedText = "";
  let reportedAtMs = startedAtMs;
  return (readText) => {
    if (reportedText.length >= maxPartialTextLength || now() - reportedAtMs < intervalMs) return [];
    const text = readText();
    if (text === "" || text === reportedText) return [];
    reportedAtMs = now();
    reportedText = text;
    return [{ type: "progress", partial: text }];
  };
}
