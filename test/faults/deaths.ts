/** Deaths that nobody can tell from one a moment before: of two such runs a search needs one. */
import type { Fault, Point } from "./faults.ts";
import type { Step } from "./world.ts";

/** Operations that change nothing: `faults.ts` counts a death after one of them as a death before it. */
const changingNothing: readonly Point[] = [
  "store.get",
  "store.list",
  "tasks.get",
  "slack.replies",
  "slack.react",
  "transport.response",
];

/**
 * By the number of an operation: the fault of an earlier one that comes to the same as dying before it.
 *
 * Where a process begins an operation in the very event in which an earlier one was done, and no other process has begun
 * anything in that event, then there is nothing between the two but what the process thinks: dying before the later one is
 * dying after the earlier one. Where that changed nothing, and nothing happened while it was under way, it is dying before it.
 */
export function earlierDeaths({
  steps,
  afterAt,
}: {
  steps: readonly Step[];
  afterAt: number;
}): Map<number, Fault> {
  const doneIn = new Map(steps.map((step) => [step.doneIn, step]));
  const found = new Map<number, Fault>();
  let event = -1;
  let isAlone = true;
  for (const { at, process, beganIn, possible } of steps) {
    const done = doneIn.get(beganIn);
    isAlone = done?.process === process && (isAlone || beganIn !== event);
    event = beganIn;
    if (!isAlone || done === undefined || done.at <= afterAt || !possible.includes("dies_before"))
      continue;
    if (done.possible.includes("dies_after")) found.set(at, { at: done.at, kind: "dies_after" });
    else if (changingNothing.includes(done.point) && beganIn === done.beganIn + 1) {
      found.set(at, { at: done.at, kind: "dies_before" });
    }
  }
  return found;
}
