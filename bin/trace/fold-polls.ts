/** A long task is polled hundreds of times, each time alike: for a reader once is enough. Pure. */
import { titleOfEvent, wordsOfName } from "./event-words.ts";
import type { PictureStep } from "./picture-step.ts";

/** Steps in a row that are nothing but polls become the first round and how many steps there were. */
export function foldPolls(steps: readonly PictureStep[]): PictureStep[] {
  const folded: PictureStep[] = [];
  for (let at = 0; at < steps.length; ) {
    const length = runLength(steps, at);
    const run = steps.slice(at, at + length);
    const polls = run.filter(isPoll);
    const [first] = polls;
    const last = run.at(-1);
    if (first === undefined || last === undefined || polls.length < leastPolls) {
      const shown = steps.slice(at, at + Math.max(length, 1));
      folded.push(...shown);
      at += shown.length;
      continue;
    }
    const title = `${first.title}, ${polls.length} times`;
    folded.push({ ...first, title, detail: {}, durationMs: last.atMs + (last.durationMs ?? 0) - first.atMs });
    at += length;
  }
  return folded;
}

const leastPolls = 3;
const around = new Set(
  ["woken", "answered"].map((name) => titleOfEvent({ words: wordsOfName(name), state: "waiting" })),
);

function runLength(steps: readonly PictureStep[], from: number): number {
  const end = steps.findIndex((step, at) => at >= from && !isPoll(step) && !around.has(step.title));
  return (end < 0 ? steps.length : end) - from;
}

function isPoll({ title, failed }: PictureStep): boolean {
  return title === "get_task" && failed !== true;
}
