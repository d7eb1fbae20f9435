/** A long task is polled dozens of times, each time alike: for a reader once is enough. */
import { describeEventName, formatStepTitle } from "./event-text.ts";
import type { PictureStep } from "./picture-step.ts";

/** Fewer are worth their lines. */
const leastPolls = 3;
const pollTitle = "get_task";
/** What comes with each poll. */
const around = new Set([
  formatStepTitle({ words: describeEventName("woken"), state: "waiting" }),
  formatStepTitle({ words: describeEventName("answered"), state: "waiting" }),
  `answer to ${pollTitle}`,
]);

/** Rounds of polls with nothing else in between become one step, which lasts from the first poll to the end of the last. */
export function foldPolls(steps: readonly PictureStep[]): PictureStep[] {
  const folded: PictureStep[] = [];
  let rounds: PictureStep[] = [];
  for (const step of steps) {
    if (isPoll(step) || around.has(step.title)) {
      rounds.push(step);
      continue;
    }
    folded.push(...fold(rounds), step);
    rounds = [];
  }
  return [...folded, ...fold(rounds)];
}

/** What was before the first poll, such as the answer that made the task wait, and after the last one stays. */
function fold(rounds: readonly PictureStep[]): readonly PictureStep[] {
  const polls = rounds.filter(isPoll);
  const [first] = polls;
  const last = polls.at(-1);
  if (first === undefined || last === undefined || polls.length < leastPolls) return rounds;
  const { detail: _detail, frame: _frame, ...step } = first;
  const durationMs = last.atMs + (last.durationMs ?? 0) - first.atMs;
  return [
    ...rounds.slice(0, rounds.indexOf(first)),
    { ...step, title: `${pollTitle}, ${polls.length} times`, detail: {}, durationMs },
    ...rounds.slice(rounds.indexOf(last) + 1),
  ];
}

function isPoll({ title, failed }: PictureStep): boolean {
  return title === pollTitle && failed !== true;
}
