/** Excuses for a task that ends without the agent's answer, although the agent would have answered. */
import type { Fate } from "./agreement.ts";
import type { Point } from "./faults.ts";
import { awayMs, type Outage } from "./outages.ts";
import type { Step, World } from "./world.ts";

type Case = { world: World; fate: Fate; reason: string };

/** Any one of them is enough. */
const excuses: readonly ((failed: Case) => boolean)[] = [
  /** The host's answer cannot be shown. */
  ({ world: { story } }) => story.agent.says !== undefined,
  /** That is what the agent does at its first try. */
  ({ world: { story, names }, fate: { message }, reason }) =>
    story.agent.failsFirst === true &&
    reason === "execution_failed" &&
    names.of(message.requestId) === "#1",
  /** Its host died, or lost its claim, and says so. */
  ({ world: { steps, outages }, fate: { executed } }) =>
    (steps.some(({ zone, fate }) => zone === "execution" && fate !== undefined) ||
      outages.some(isOfHost)) &&
    executed?.outcome?.type === "failure" &&
    executed.outcome.lost === true,
  /** Somebody wished it to end. */
  ({ world: { story }, reason }) =>
    reason === "canceled" &&
    (story.messages.some(({ isUnaddressed }) => isUnaddressed) ||
      story.cancelsAtHomeAfterMs !== undefined),
  /** Somebody pressed Slack's own stop button. */
  ({ world: { streamsStopped }, reason }) => reason === "canceled" && streamsStopped > 0,
  /** Somebody deleted the message. */
  ({ fate: { message }, reason }) =>
    reason === "canceled" && message.change !== undefined && message.change.text === undefined,
  /** The queue gave up on a message of it. */
  ({ fate: { record } }) => record?.history.some(({ event }) => event === "dead_lettered") === true,
  /** More than one fault together took so long that its time was over: no agent here takes as long as it may. */
  ({ world: { steps, outages }, fate: { executed } }) =>
    steps.filter(isMet).length + outages.length > 1 &&
    executed?.outcome?.type === "failure" &&
    executed.outcome.reason === "timeout",
  /** The host, or the way to it, was away for longer than eight tries take. */
  ({ world: { outages }, reason }) =>
    ["unavailable", "ambiguous", "timeout"].includes(reason) &&
    awayMs(outages.filter(isOfHost)) >= givenUpAfterMs,
  /** It was away for most of those tries, and a fault took the last one. */
  ({ world: { steps, outages }, reason }) =>
    ["unavailable", "ambiguous"].includes(reason) &&
    awayMs(outages.filter(isOfHost)) >= givenUpAfterMs / 2 &&
    steps.filter(isMet).some(isOnTheWay),
  /** It was off, or out of reach, until its time was over: then it may say that it lost the agent, and have forgotten the task since. */
  ({ world: { outages }, reason }) =>
    ["unavailable", "ambiguous", "timeout", "execution_failed"].includes(reason) &&
    awayMs(outages) >= deadlineMs,
  /** The ways to the host were cut so often that it was given up. */
  ({ world: { steps }, reason }) =>
    ["unavailable", "ambiguous", "timeout"].includes(reason) &&
    steps.filter(isMet).filter(isOnTheWay).length >= 8,
  /** A call to where nobody is was interrupted: nobody knows that nobody was there. */
  ({ world, reason }) =>
    world.story.first === "away" && reason === "ambiguous" && wasInterrupted(world),
  /** A call to a peer that does not deduplicate was interrupted. A message that merely came twice interrupts nothing. */
  ({ world, reason }) => world.story.isForeign && reason === "ambiguous" && wasInterrupted(world),
];

/** By a fault, or because a zone was off. */
function wasInterrupted({ steps, outages }: World): boolean {
  return outages.length > 0 || steps.filter(isMet).some((step) => !isHarmless(step));
}

/** Eight tries of a call, with growing delays, take about two minutes. */
const givenUpAfterMs = 100_000;
/** As settings.ts has it, with a margin. */
const deadlineMs = 8 * 3600_000 - 10 * 60_000;
/** A message that has become a dead letter during an outage comes again this late after it. */
const buriedMs = 15 * 60_000;
/** People press a button that does nothing for a minute, and no longer. */
const patienceMs = 60_000;
/** A message that waited longer is told so, and never executed. */
const tooOldMs = 24 * 3600_000;

function isOfHost({ parties }: Outage): boolean {
  return parties.some((party) => party === "way" || party === "tasks" || party === "execution");
}

/** The reason, where it has no excuse. */
export function needlessFailure({ world, fate }: { world: World; fate: Fate }): string | undefined {
  const outcome = fate.record?.outcome;
  if (outcome === undefined || outcome.type === "answer") return undefined;
  if (outcome.type !== "failed")
    return isDue({ world, fate, type: outcome.type }) ? undefined : `it is ${outcome.type}`;
  const { reason } = outcome;
  return excuses.some((holds) => holds({ world, fate, reason }))
    ? undefined
    : `it failed: ${reason}`;
}

/** True if an outcome that is no failure of the agent was caused by people, or has an excuse. */
function isDue({ world, fate, type }: { world: World; fate: Fate; type: string }): boolean {
  const { story, steps, outages } = world;
  const { expected } = fate;
  switch (type) {
    case "refused":
      return !story.isAllowed;
    case "limited":
      return story.quota !== undefined;
    case "canceling":
      return expected.isCancel;
    // Nobody presses a button again that seems to have been taken. `lostReply` says of replies that they may not be lost.
    case "unanswered":
      if (isQuestionOver(world)) return true;
      if (!expected.hasReply && awayMs(outages) >= patienceMs) return true;
      return (
        !expected.hasReply &&
        (story.buttonClicks.length + (story.forms ?? []).length === 0 || steps.some(isMet))
      );
    // It could not be read for a quarter of a minute.
    case "file_refused":
      return steps.filter(isMet).filter(({ point }) => point === "files.in").length >= 3;
    case "too_old":
      return awayMs(outages) >= tooOldMs;
    default:
      return false;
  }
}

function isMet({ fate }: Step): boolean {
  return fate !== undefined;
}

function isOnTheWay({ point }: Step): boolean {
  return /^(transport|tasks|work|agent|asker)\./.test(point);
}

const harmless: readonly Point[] = ["slack.event", "slack.react", "queue.deliver", "queue.finish"];

function isHarmless({ fate, point }: Step): boolean {
  return fate?.startsWith("dies") !== true && harmless.includes(point);
}

/** An outage kept a reply away until the question had expired. */
export function isQuestionOver({ story, outages }: World): boolean {
  return outages.length > 0 && awayMs(outages) >= story.questionMs - buriedMs;
}
