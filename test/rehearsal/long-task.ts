/** Tasks of hours, in virtual time: one that ends, and one whose time is over first. */
import { setTimeout as delay } from "node:timers/promises";
import { changeRoutes } from "./moves.ts";
import { logged } from "./stories.ts";
import type { World } from "./world.ts";

const hourMs = 3600_000;
/** How long the host asks to be left alone. */
export const longPollAfterMs = 600_000;

/** An agent waits four times as long as it is told, and forever where that is an hour. Follows the clock of the rehearsal. */
export async function waitForHours({ ms, signal }: { ms: number; signal: AbortSignal }): Promise<void> {
  const endMs = ms >= hourMs ? Number.POSITIVE_INFINITY : Date.now() + 4 * ms;
  while (Date.now() < endMs) await delay(20, undefined, { signal });
}

export type LongTasks = {
  /** Hours of virtual time from the message to the answer. */
  answeredAfterHours: number;
  overAfterHours: number;
  /** What the thread of the task that never ends says. */
  overText: string;
  polls: number;
};

export async function areLong(world: World): Promise<LongTasks> {
  await changeRoutes(world, "patient");
  const startMs = Date.now();
  const hours = () => (Date.now() - startMs) / hourMs;
  const ends = world.ask({ text: "slow 1800s, two hours" });
  const never = world.ask({ text: "slow 3600s, forever" });
  const only = (asked: typeof ends, wanted: RegExp) => () => {
    const [post, ...others] = world.answersTo(asked.message);
    return others.length === 0 && post !== undefined && wanted.test(post.text) ? post.text : undefined;
  };
  await world.skipUntil("answer after two hours", only(ends, /two hours/));
  const answeredAfterHours = hours();
  const overText = await world.skipUntil("word of the end of eight hours", only(never, /longer than|out of time/i));
  const { requestId } = ends;
  const polls = logged(world, { request_id: requestId, message: "call_answered", operation: "get_task" }).length;
  return { answeredAfterHours, overAfterHours: hours(), overText, polls };
}
