/** The invariants that hold after every run, whatever went wrong in it. Each is one small function with one sentence. */

import { isSamePost } from "@sekisho/verification/slack/api/post-keys.ts";
import type { Post } from "../world/memory-slack.ts";
import {
  answeredByOtherText,
  disagreement,
  type Fate,
  lostReply,
  lostWish,
  oddAnswer,
  oddUse,
  oddVotes,
} from "./agreement.ts";
import { wrongAsker } from "./askers.ts";
import { liveButtonsOf } from "./button-clicks.ts";
import { isQuestionOver, needlessFailure } from "./excuses.ts";
import { uncanceledAtHome } from "./home.ts";
import { oddStop } from "./native-stop.ts";
import { excessCopies, excessOperations } from "./operations.ts";
import { awayMs } from "./outages.ts";
import { quotaMs } from "./settings.ts";
import { agentsAnswer } from "./sim-agent.ts";
import type { AgentRun, World } from "./world.ts";

export type Ending = {
  world: World;
  fates: readonly Fate[];
  posts: readonly Post[];
  /** Messages that are still in a queue. */
  waiting: number;
  /** Nothing is left to happen. */
  isOver: boolean;
  /** The channel was gone: nobody could answer. */
  isExempt: boolean;
  /** Nor could anybody read or remove anything there. */
  isShut: boolean;
  /** Something went wrong in the Execution zone itself, so that an agent may have been lost. */
  isHostHit: boolean;
  /** Rejections that nobody handled. */
  unheard: readonly string[];
  /** Operations of the same story without a fault; undefined where this is that run. */
  usualOperations: number | undefined;
};

export type Violation = { invariant: string; detail: string };

type Invariant = { sentence: string; find: (ending: Ending) => string | undefined };

/** The time that a task has, after which both zones give it up. */
const apartMs = 8 * 3600_000 - 10 * 60_000;

/** What an agent needs to begin, in a world in peace. */
const usualStartMs = 2000;

/** A person is told again after a quarter of an hour. Clocks of a zone's processes differ, and a message may land late. */
const refusalMs = 13 * 60_000;

const invariants: readonly Invariant[] = [
  {
    sentence: "Every accepted message has exactly one final answer in its thread.",
    find: ({ fates, isExempt }) => (isExempt ? undefined : firstOf(fates, oddAnswer)),
  },
  {
    sentence:
      "No part of an answer is posted while it stands in the thread, unless Slack itself was late or did it twice.",
    find: ({ world: { doubled } }) => doubled.at(0),
  },
  {
    sentence:
      "A person who may not ask, or asks for too much, is told so once in a while, where nobody else reads it.",
    find({ fates, world: { story, ephemeralMessages, steps, outages } }) {
      if (story.isAllowed && story.quota === undefined) return undefined;
      const isRefused = ({ record }: Fate) =>
        record?.outcome?.type === "refused" || record?.outcome?.type === "limited";
      const shown = fates.find((fate) => isRefused(fate) && fate.posts.length > 0);
      if (shown !== undefined) return `the refusal of ${shown.message.requestId} is in the thread`;
      const isUndisturbed = outages.length === 0 && steps.every(({ fate }) => fate === undefined);
      if (isUndisturbed && ephemeralMessages.length === 0) return "nothing was told";
      const early = ephemeralMessages
        .slice(1)
        .find(({ atMs }, index) => atMs - (ephemeralMessages[index]?.atMs ?? 0) < refusalMs);
      return early === undefined ? undefined : `told ${ephemeralMessages.length} times`;
    },
  },
  {
    sentence: "A person has as many tasks as fit into the quota.",
    find({ world: { story, agentRuns, steps, outages } }) {
      if (story.quota === undefined || awayMs(outages) >= quotaMs) return undefined;
      const count = new Set(agentRuns.map(({ requestId }) => requestId)).size;
      const isUndisturbed = outages.length === 0 && steps.every(({ fate }) => fate === undefined);
      const isOdd = count > story.quota || (isUndisturbed && count < story.quota);
      return isOdd ? `${count} tasks` : undefined;
    },
  },
  {
    sentence:
      "On one machine an answer can be read as it is written: first words within a second, no pause above 1.5 s.",
    find({ world }) {
      const { agentRuns, streamedAtMs } = world;
      if (!world.engine.isOneProcess || !isPeace(world)) return undefined;
      return firstOf(agentRuns, ({ wroteFromMs, wroteUntilMs = 0 }) => {
        if (wroteFromMs === undefined) return undefined;
        const [firstMs = Number.POSITIVE_INFINITY] = streamedAtMs;
        const times = [...streamedAtMs, wroteUntilMs];
        const pauses = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
        const isRead = firstMs - wroteFromMs <= 1000 && Math.max(...pauses) <= 1500;
        return isRead
          ? undefined
          : `first words after ${firstMs - wroteFromMs} ms, pauses of ${pauses.join(", ")} ms`;
      });
    },
  },
  {
    sentence:
      "No agent gets an answer of another route's agent, and a thread stays with the agent that was named last.",
    find({ fates, world }) {
      const { story, agentRuns } = world;
      if (story.hasWord === undefined) return undefined;
      const taken = fates.flatMap(({ message, record }) =>
        record?.call === undefined ? [] : [{ message, record }],
      );
      const destinationOf = (id: string) =>
        taken.find(({ message }) => message.requestId === id)?.record.call?.destination;
      const foreign = agentRuns.flatMap(({ requestId, reads }) =>
        taken.filter(
          ({ message, record }) =>
            record.call?.destination !== destinationOf(requestId) &&
            reads.some((text) => text.includes(agentsAnswer(message))),
        ),
      );
      if (foreign[0] !== undefined)
        return `the answer to ${foreign[0].message.requestId} was read by another agent`;
      const [first, ...others] = taken.map(({ record }) => record.call?.destination);
      const isKept =
        !isPeace(world) || (first === "agents" && others.every((name) => name === "spare"));
      return isKept ? undefined : `the tasks went to ${[first, ...others].join(", ")}`;
    },
  },
  {
    sentence:
      "A thread stays where it is when its route moves, with its answers, and a new thread begins at the new place.",
    find({ fates, world }) {
      const { story, agentRuns } = world;
      if (story.routeMovesAfterMs === undefined) return undefined;
      const tasks = fates.flatMap(({ message, record }) =>
        record?.call === undefined ? [] : [{ message, to: record.call.destination }],
      );
      const split = tasks.find(({ message, to }) =>
        tasks.some((other) => other.message.threadTs === message.threadTs && other.to !== to),
      );
      if (split !== undefined) return `the thread of ${split.message.requestId} went to both`;
      if (!isPeace(world)) return undefined;
      const [first] = fates;
      const strayed = tasks.find(
        ({ message, to }) =>
          to !== (message.threadTs === first?.message.threadTs ? "agents" : "spare"),
      );
      if (strayed !== undefined) return `${strayed.message.requestId} went to ${strayed.to}`;
      // The second task of the thread reads the answer to the first one.
      const counts = agentRuns.map(({ reads }) => reads.length);
      return counts.join() === "0,1,0" ? undefined : `the agents read ${counts} answers`;
    },
  },
  {
    sentence:
      "What Slack does not tell about names is not asked again at once, and delays no task by more than two seconds.",
    find({ fates, world }) {
      const { story, lookups, agentRuns } = world;
      if (story.hasNoNames === undefined || !isPeace(world)) return undefined;
      if (new Set(lookups.map(({ what }) => what)).size < 4) return "not everything was asked";
      const repeated = lookups.find(({ what, process, atMs }) => {
        const pauseMs = what === "people" ? 3600_000 : 60_000;
        return lookups.some(
          (other) =>
            other.what === what &&
            other.process === process &&
            other.atMs > atMs &&
            other.atMs < atMs + pauseMs,
        );
      });
      if (repeated !== undefined) return `${repeated.what} was asked again`;
      return firstOf(fates, ({ message: { requestId, writtenAtMs } }) => {
        const run = agentRuns.find((one) => one.requestId === requestId);
        const lateMs = (run?.fromMs ?? 0) - writtenAtMs;
        return run === undefined || lateMs > usualStartMs + 2000
          ? `${requestId} began after ${lateMs} ms`
          : undefined;
      });
    },
  },
  {
    sentence: "A wish to cancel does not wait for a poll that is held.",
    find({ world, fates }) {
      if (!world.engine.isOneProcess || !isPeace(world)) return undefined;
      const wish = fates.find(({ message }) => message.text === "cancel")?.message;
      return firstOf(fates, ({ message, record, zoneAheadMs }) => {
        const atMs = record?.history.find(({ event }) => event === "canceled")?.atMs;
        if (wish === undefined || atMs === undefined) return undefined;
        const lateMs = atMs - zoneAheadMs - wish.writtenAtMs;
        return lateMs <= 1000 ? undefined : `${message.requestId} was canceled after ${lateMs} ms`;
      });
    },
  },
  {
    sentence: "No placeholder is left over.",
    find: ({ posts, isExempt }) =>
      isExempt
        ? undefined
        : firstOf(posts, ({ key, ts }) =>
            key?.kind === "placeholder" ? `the placeholder at ${ts}` : undefined,
          ),
  },
  {
    sentence:
      "No session shows that the bot is at work, once Slack has taken the last call about it.",
    find: ({ world: { sessions } }) =>
      firstOf([...sessions], ([thread, { status, calls, lastTaken }]) =>
        lastTaken === calls && status === "processing" ? `the session of ${thread}` : undefined,
      ),
  },
  {
    sentence: "Nothing else of ours is in a thread.",
    find: ({ posts, fates, isExempt, isShut }) =>
      firstOf(posts, (post) =>
        // What has no key cannot be found again by whoever gave up.
        isShut ||
        fates.some((fate) => fate.posts.includes(post)) ||
        (isExempt && post.key === undefined)
          ? undefined
          : `the post at ${post.ts}`,
      ),
  },
  {
    sentence: "A question is asked once, and nobody can press its buttons any more.",
    find: ({ posts, isExempt }) =>
      isExempt
        ? undefined
        : firstOf(posts, (post) => {
            const question = post.key;
            if (question?.kind !== "question") return undefined;
            const same = posts.filter(
              ({ key }) => key?.requestId === question.requestId && isSamePost(key, question),
            );
            return same.length > 1 || liveButtonsOf(post).length > 0
              ? `the question at ${post.ts}`
              : undefined;
          }),
  },
  {
    sentence: "Where nobody may post any more, what could be removed has no live buttons.",
    find: ({ posts, isExempt, isShut }) =>
      !isExempt || isShut
        ? undefined
        : firstOf(posts, (post) =>
            liveButtonsOf(post).length > 0 ? `the post at ${post.ts}` : undefined,
          ),
  },
  {
    sentence: "Each person has the one vote that they gave last, in the record and at the host.",
    find({ fates: [fate], world }) {
      const { story, votes } = world;
      if (fate === undefined || !story.buttonClicks.some((clicked) => "vote" in clicked))
        return undefined;
      return oddVotes({ fate, given: votes, isComplete: isOfFewFaults(world) });
    },
  },
  {
    sentence:
      "A failed task is tried again once, however often that is asked for, and by nobody else.",
    find({ fates, isExempt, world }) {
      const { story, agentRuns, names, isRetryTaken } = world;
      if (story.agent.failsFirst !== true) return undefined;
      const again = fates.find(({ message }) => names.of(message.requestId) === "#1 again");
      const isAsked = (id: string) => fates.some(({ message }) => message.requestId === id);
      if (agentRuns.some(({ requestId }) => !isAsked(requestId))) return "something else was run";
      if (!isRetryTaken || again?.record !== undefined || isExempt) return undefined;
      return isOfFewFaults(world) ? "a click came to nothing" : undefined;
    },
  },
  {
    sentence: "The files of an answer are in the thread, once.",
    find({ posts, fates, world: { story, steps }, isExempt }) {
      if (isExempt || !story.agent.makesFiles) return undefined;
      const shared = posts.filter(({ fileIds }) => fileIds.length > 0).length;
      const isAnswered = fates.some(
        ({ record, executed }) => executed?.state === "completed" && record?.outcome === undefined,
      );
      // A file that cannot be uploaded for a quarter of a minute is told instead.
      const hasExcuse =
        steps.filter(({ fate, point }) => fate !== undefined && point === "slack.upload").length >
        1;
      return shared === 1 || (shared === 0 && (!isAnswered || hasExcuse))
        ? undefined
        : `${shared} times`;
    },
  },
  {
    sentence:
      "A file that comes later than its message reaches the agent, or is noted as too late.",
    find({ fates, isExempt, world }) {
      if (isExempt || !isOfFewFaults(world)) return undefined;
      const isPeaceful = isPeace(world);
      return firstOf(fates, ({ message: { requestId, lateFile }, record }) => {
        const run = world.agentRuns.find((one) => one.requestId === requestId);
        if (!lateFile?.isTaken || run === undefined || record === undefined) return undefined;
        const isTooLate = record.history.some(({ event }) => event === "files_too_late");
        const isFirst = world.names.of(requestId) === "#1";
        if (isPeaceful && isTooLate === isFirst)
          return `${requestId} ${isTooLate ? "was sent early" : "waited"}`;
        // Below a failure nothing more is said: another try takes the file.
        const hasFailed = record.outcome !== undefined && record.outcome.type !== "answer";
        return (run.files ?? 0) > 0 !== isTooLate || hasFailed
          ? undefined
          : `${requestId} lost its file`;
      });
    },
  },
  {
    sentence:
      "The agent is started at most once for a request, and once for each answer to what it asks.",
    find: ({ world: { agentRuns } }) =>
      firstOf(agentRuns, ({ requestId, turn }) => {
        const times = agentRuns.filter(
          (run) => run.requestId === requestId && run.turn === turn,
        ).length;
        return times > 1 ? `${requestId} ${times} times` : undefined;
      }),
  },
  {
    sentence: "Every task has ended, and nothing waits for nobody.",
    find({ fates, waiting, isOver }) {
      if (!isOver) return "there is no end in sight";
      if (waiting > 0) return `${waiting} messages are left in a queue`;
      return firstOf(fates, ({ record, expected }) => {
        if (record === undefined)
          return expected.answer === "owed" ? "there is no record" : undefined;
        return record.state === "done" && record.cleanupDone
          ? undefined
          : `the record says ${record.state}`;
      });
    },
  },
  {
    sentence: "The record, the thread and the Execution zone's task agree.",
    // Where nobody could be answered, nothing needs to have been done either.
    find({ fates, isExempt, world: { outages, agentRuns } }) {
      const isApart = awayMs(outages) >= apartMs;
      const hasStarted = ({ message }: Fate) =>
        agentRuns.some(({ requestId }) => requestId === message.requestId);
      return isExempt
        ? undefined
        : firstOf(fates, (fate) => disagreement({ fate, isApart, hasStarted: hasStarted(fate) }));
    },
  },
  {
    sentence:
      "An edited message is answered by the text that its record took, and in peace that is the new one.",
    find: ({ fates, isExempt, world }) =>
      isExempt
        ? undefined
        : firstOf(fates, (fate) => answeredByOtherText({ fate, isPeace: isPeace(world) })),
  },
  {
    sentence: "Each task that is over is counted as use, and nothing else is.",
    find: ({ fates, isExempt }) => firstOf(fates, (fate) => oddUse({ fate, isExempt })),
  },
  {
    sentence: "A task that fails has an excuse.",
    find: ({ fates, world, isExempt }) =>
      isExempt ? undefined : firstOf(fates, (fate) => needlessFailure({ world, fate })),
  },
  {
    sentence: "A wish to cancel is not lost.",
    find({ fates, isExempt, world: { steps, outages } }) {
      const hasFaults = outages.length > 0 || steps.some(({ fate }) => fate !== undefined);
      return isExempt ? undefined : lostWish({ fates, hasFaults });
    },
  },
  {
    sentence: "A reply to a question that stands in the thread is not lost.",
    find: ({ fates, isExempt, world }) =>
      isExempt ? undefined : lostReply({ fates, isQuestionOver: isQuestionOver(world) }),
  },
  {
    sentence: "The tasks of a thread begin in the order of their messages.",
    find({ fates, world: { turns, agentRuns }, isExempt }) {
      // A task that nobody can be told of leaves its thread. If its worker dies then, it comes again, behind later ones that leave too.
      const isRun = ({ message }: Fate) =>
        agentRuns.some(({ requestId }) => requestId === message.requestId);
      return outOfTurn({ fates: isExempt ? fates.filter(isRun) : fates, turns });
    },
  },
  {
    sentence: "The agents of a thread work one at a time.",
    find: ({ fates, world: { agentRuns } }) => agentsTogether({ fates, agentRuns }),
  },
  {
    sentence: "The agent of a canceled task is told to stop.",
    find: ({ fates, world: { agentRuns }, isHostHit }) =>
      isHostHit ? undefined : canceledButWorking({ fates, agentRuns }),
  },
  {
    sentence: "What only a newer version knows stays in a record that an older one writes.",
    find: ({ world }) => world.losses.at(0),
  },
  {
    sentence:
      "Each call to a told destination has the token of who wrote what it brings, and untold ones cost no signature.",
    find: wrongAsker,
  },
  {
    sentence: "No rejection goes unheard: it would end its process.",
    find: ({ unheard }) => unheard.at(0),
  },
  {
    sentence: "No secret is in a log line, a queue message or a record.",
    find: ({ world: { leaks } }) => leaks.secret(),
  },
  {
    sentence: "No text of a message is in a log line.",
    find: ({ world: { leaks }, fates }) =>
      firstOf(fates, ({ message }) => {
        // A single word can be the name of anything.
        const isTelling = message.text.includes(" ");
        return isTelling && (leaks.isLogged(message.text) || leaks.isLogged(agentsAnswer(message)))
          ? message.requestId
          : undefined;
      }),
  },
  {
    sentence: "Whoever cancels a task on the App Home sees it end as canceled.",
    find: ({ world, fates, isExempt }) =>
      isExempt ? undefined : firstOf(fates, ({ record }) => uncanceledAtHome({ world, record })),
  },
  {
    sentence:
      "A task whose stream was stopped in Slack is canceled, whatever else goes wrong in Slack.",
    find: ({ world, fates: [fate], isExempt }) =>
      isExempt ? undefined : oddStop({ world, record: fate?.record }),
  },
  {
    sentence: "The number of operations is bounded.",
    find: ({ world, usualOperations }) =>
      usualOperations === undefined ? undefined : excessOperations({ world, usualOperations }),
  },
  {
    sentence: "A message that waits for a newer version is copied at growing intervals.",
    find: ({ world }) => excessCopies(world),
  },
];

/** The queue gives up on no message after so few. */
function isOfFewFaults({ steps, outages }: World): boolean {
  return outages.length === 0 && steps.filter(({ fate }) => fate !== undefined).length <= 2;
}

export function violationsOf(ending: Ending): Violation[] {
  return invariants.flatMap(({ sentence, find }) => {
    const detail = find(ending);
    return detail === undefined ? [] : [{ invariant: sentence, detail }];
  });
}

function firstOf<T>(
  items: readonly T[],
  find: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Seen = { fates: readonly Fate[]; agentRuns: readonly AgentRun[] };

/** One began whose message came later, although this one stood in the thread's record already. */
function outOfTurn({
  fates,
  turns,
}: {
  fates: readonly Fate[];
  turns: World["turns"];
}): string | undefined {
  const taken = fates.flatMap(({ message }) => {
    const turn = turns.get(message.requestId);
    return turn === undefined ? [] : [{ ...message, ...turn }];
  });
  for (const early of taken) {
    const late = taken.find(
      ({ ts, threadTs, begunMs }) =>
        threadTs === early.threadTs &&
        Number(ts) > Number(early.ts) &&
        begunMs > early.linedUpMs &&
        begunMs < early.begunMs,
    );
    const isCanceled = early.begunMs === Number.POSITIVE_INFINITY;
    if (late !== undefined && !isCanceled)
      return `${late.requestId} began before ${early.requestId}`;
  }
  return undefined;
}

/** One that was canceled may still be on its way to its end when the next one begins. */
function agentsTogether({ fates, agentRuns }: Seen): string | undefined {
  const runs = agentRuns.flatMap((run) => {
    const fate = fates.find(({ message }) => message.requestId === run.requestId);
    return fate === undefined || fate.executed?.state === "canceled"
      ? []
      : [{ ...run, thread: fate.message.threadTs }];
  });
  for (const [index, one] of runs.entries()) {
    const other = runs
      .slice(index + 1)
      .find(
        ({ thread, fromMs, untilMs }) =>
          thread === one.thread && fromMs < one.untilMs && one.fromMs < untilMs,
      );
    if (other !== undefined) return `${one.requestId} and ${other.requestId}`;
  }
  return undefined;
}

/** Nothing goes wrong, and every latency is the usual one. Two versions do not hear each other's news at once. */
function isPeace({ isRestless, steps, outages, mix }: World): boolean {
  return (
    !isRestless &&
    mix === undefined &&
    outages.length === 0 &&
    steps.every(({ fate }) => fate === undefined)
  );
}

/** It hears of it at the next renewal of its lease; one that is at its end then is fine as well. */
function canceledButWorking({ fates, agentRuns }: Seen): string | undefined {
  const hearsWithinMs = 30_000;
  for (const { requestId, untilMs, end } of agentRuns) {
    const fate = fates.find(({ message }) => message.requestId === requestId);
    const cancelEvent = fate?.record?.history.find(({ event }) => event === "canceled");
    if (fate?.executed?.state !== "canceled" || cancelEvent === undefined) continue;
    const isLate = untilMs > cancelEvent.atMs - fate.zoneAheadMs + hearsWithinMs;
    if (end !== "stopped" && isLate) return `${requestId} ${end}`;
  }
  return undefined;
}
