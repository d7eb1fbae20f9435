/** Stories of tasks that are polled often, or for hours. */
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../aws/gateway.ts";
import { mostInChain } from "../lambda/lineage.ts";
import type { World } from "../world.ts";
import { answer, hasButton, logged, withFault } from "./messages.ts";
import { changeRoutes } from "./routes.ts";

/**
 * A chain of invocations is longer than it may be without loops after so many polls. SQS delivers some wake-ups twice, and both go on
 * for up to ten polls, so several chains share the polls.
 */
const minPolls = 4 * mostInChain;

/** Polls a task without delays, until a chain of invocations is longer than it may be without loops, and then cancels it. */
export async function pollInOneChain(world: World): Promise<void> {
  const { message, requestId } = world.ask({ text: "slow 50s, polled often" });
  const hurry: Fault = ({ call: { action, input } }) => {
    if (action === "sqs:SendMessage" && String(input.MessageBody).includes(requestId))
      input.DelaySeconds = 0;
    return undefined;
  };
  await withFault(world, hurry, () =>
    world.until(`${minPolls} polls of a task`, () => {
      const polls = logged(world, {
        request_id: requestId,
        message: "call_answered",
        operation: "get_task",
      });
      return polls.length >= minPolls ? true : undefined;
    }),
  );
  const { channel, ts } = await world.until("button to cancel", () =>
    world.answersTo(message).find((post) => hasButton("Cancel", post)),
  );
  world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Cancel" });
  await answer(world, message, /was canceled/);
}

const hourMs = 3600_000;
/** The poll delay that the host asks for. */
export const longPollAfterMs = 600_000;

/** Lets an agent wait four times as long as it is told, and forever instead of an hour. It follows the clock of the rehearsal. */
export async function waitForHours({
  ms,
  signal,
}: {
  ms: number;
  signal: AbortSignal;
}): Promise<void> {
  const endMs = ms >= hourMs ? Number.POSITIVE_INFINITY : Date.now() + 4 * ms;
  while (Date.now() < endMs) await delay(20, undefined, { signal });
}

/** Runs two tasks in virtual time: one that ends after two hours, and one that runs out of time. */
export async function runLongTasks(world: World): Promise<{
  answeredAfterHours: number;
  overAfterHours: number;
  overText: string;
  polls: number;
}> {
  await changeRoutes(world, "patient");
  const startMs = Date.now();
  const hours = () => (Date.now() - startMs) / hourMs;
  const ends = world.ask({ text: "slow 1800s, two hours" });
  const never = world.ask({ text: "slow 3600s, forever" });
  const only = (posts: typeof ends, wanted: RegExp) => () => {
    const [post, ...others] = world.answersTo(posts.message);
    return others.length === 0 && post !== undefined && wanted.test(post.text)
      ? post.text
      : undefined;
  };
  await world.skipUntil("answer after two hours", only(ends, /two hours/));
  const answeredAfterHours = hours();
  const overText = await world.skipUntil(
    "word of the end of eight hours",
    only(never, /longer than|out of time/i),
  );
  const { requestId } = ends;
  const polls = logged(world, {
    request_id: requestId,
    message: "call_answered",
    operation: "get_task",
  }).length;
  return { answeredAfterHours, overAfterHours: hours(), overText, polls };
}
