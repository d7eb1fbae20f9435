/** A load run: two zones as processes, a fake Slack, people who ask, and the checks when every task is over. */

import { hangMs } from "../../tooling/hang.ts";
import { createRandom } from "../kills/plan.ts";
import { askAll, planThreads } from "./asker.ts";
import type { Memory, OperationCounts } from "./children/parent.ts";
import type { CallCounts } from "./counting-engine.ts";
import { problemsOf } from "./load-result.ts";
import { type Parts, startParts } from "./start-parts.ts";
import { createTally, type Progress, type Tally } from "./tally.ts";

export type LoadOptions = {
  tasks: number;
  /** So many tasks are in execution at once for most of the run. */
  atOnce: number;
  /** The share of calls that fail, 0 to 1. */
  failing: number;
  seed: number;
  /** Whether some threads have several messages. */
  longThreads?: boolean;
  /** The share of tasks that the agent answers at once. */
  quickShare?: number;
  /** When no agent has started for so long, all held agents go on. */
  quietMs?: number;
  /** The time between an answer and its cleanup. At least a second. */
  sweepAfterMs?: number;
  onProgress?: (progress: Progress & { seconds: number }) => void;
  signal?: AbortSignal;
};

/** The memory of both zones when that many tasks were answered. */
export type MemorySample = {
  answered: number;
  atMs: number;
  verification: Memory;
  execution: Memory;
};

export type LoadReport = {
  tasks: number;
  /** How the promise was broken, a line each. */
  problems: string[];
  /** From the first event to the last answer. */
  answerSeconds: number;
  mostAtOnce: number;
  memory: MemorySample[];
  /** Events that Slack delivered twice. */
  repeatedEvents: number;
  slack: CallCounts;
  transport: CallCounts;
  operations: { verification: OperationCounts; execution: OperationCounts };
};

const progressMs = 3000;
const memoryShares = [0.1, 0.5, 1];

/** Rejects if it is aborted, if a zone dies, or if nothing happens for `hangMs`. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { tasks, atOnce, failing, seed, quietMs = 3000, sweepAfterMs = 5000, signal } = options;
  const tally = createTally();
  const interrupted = () => tally.fail(new Error("The run was interrupted."));
  signal?.addEventListener("abort", interrupted);
  if (signal?.aborted) interrupted();
  const parts = await startParts({
    atOnce,
    failing,
    seed,
    quietMs,
    sweepAfterMs,
    onEvent: tally.tell,
    onDeath: tally.fail,
  });
  const startedAtMs = Date.now();
  const timer = setInterval(() => {
    options.onProgress?.({
      ...tally.progress(),
      seconds: Math.round((Date.now() - startedAtMs) / 1000),
    });
    if (Date.now() - tally.lastAtMs() > hangMs) tally.fail(new Error(tally.standstill()));
  }, progressMs);
  try {
    const [memory, repeatedEvents] = await Promise.all([
      watchMemory({ tasks, tally, parts }),
      ask({ options, tally, parts }),
      tally.until(({ over }) => over >= tasks),
    ]);
    const [verification, execution] = [
      await parts.verification.counts(),
      await parts.execution.counts(),
    ];
    const { asked: askedTasks, agentEvents } = tally;
    return {
      tasks,
      problems: problemsOf({
        asked: askedTasks,
        messages: parts.slack.messages(),
        agentEvents,
      }),
      answerSeconds: (tally.lastAnswerAtMs() - startedAtMs) / 1000,
      mostAtOnce: tally.mostAtOnce(),
      memory,
      repeatedEvents,
      slack: parts.slack.counts,
      transport: { calls: verification.calls, failed: verification.failed },
      operations: { verification: verification.operations, execution: execution.operations },
    };
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", interrupted);
    await parts.close();
  }
}

async function watchMemory({
  tasks,
  tally,
  parts: { verification, execution },
}: {
  tasks: number;
  tally: Tally;
  parts: Parts;
}): Promise<MemorySample[]> {
  const samples: MemorySample[] = [];
  for (const share of memoryShares) {
    await tally.until(({ answered }) => answered >= share * tasks);
    const sample = { answered: tally.progress().answered, atMs: Date.now() };
    samples.push({
      ...sample,
      verification: await verification.memory(),
      execution: await execution.memory(),
    });
  }
  return samples;
}

function ask({
  options: { tasks, atOnce, failing, seed, longThreads = true, quickShare = 0.1 },
  tally,
  parts,
}: {
  options: LoadOptions;
  tally: Tally;
  parts: Parts;
}): Promise<number> {
  const random = createRandom({ seed: seed + 2 }).next;
  return askAll({
    threads: planThreads({ tasks, longThreads, quickShare, random }),
    slack: parts.slack,
    eventsUrl: `${parts.verification.url}/slack/events`,
    repeating: failing,
    random,
    // Besides the tasks in execution, some have ended and wait to be polled or delivered.
    mayAsk: () =>
      tally.until(({ asked: askedTasks, answered }) => askedTasks - answered < 3 * atOnce),
    onAsked: tally.add,
  });
}
