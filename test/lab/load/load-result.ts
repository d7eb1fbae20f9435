/** Whether a load run kept the promise: what the threads show, what the agents did, and whether memory stayed flat. Pure. */

import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { metadataSchema, readPostKey } from "@sekisho/verification/slack/api/post-keys.ts";
import { type AskedTask, answerTo, textOf } from "./asker.ts";
import type { Memory } from "./children/parent.ts";
import type { MemorySample } from "./load.ts";

/** A start or an end of an agent, in the order in which they happened. */
export type AgentEvent = { type: "started" | "ended"; requestId: string };

/** Returns a line for each way in which the promise was broken. */
export function problemsOf({
  asked: askedTasks,
  messages,
  agentEvents,
}: {
  asked: readonly AskedTask[];
  messages: readonly FakeSlackMessage[];
  agentEvents: readonly AgentEvent[];
}): string[] {
  return [
    ...answerProblems(askedTasks, messages),
    ...startProblems(askedTasks, agentEvents),
    ...orderProblems(askedTasks, agentEvents),
  ];
}

/** Each task needs exactly one post, the agent's own answer. A left-over placeholder is one too many. */
function answerProblems(
  askedTasks: readonly AskedTask[],
  messages: readonly FakeSlackMessage[],
): string[] {
  const posts = Map.groupBy(
    messages.filter(({ user }) => user === workspace.botUser),
    (message) => readPostKey(metadataSchema.parse(message.metadata))?.requestId ?? "nobody",
  );
  const known = new Set(askedTasks.map(({ requestId }) => requestId));
  const strangers = [...posts.keys()].filter((requestId) => !known.has(requestId));
  return [
    ...strangers.map((requestId) => `A post belongs to no task: ${requestId}`),
    ...askedTasks.flatMap((task) => {
      const own = posts.get(task.requestId) ?? [];
      const [answer] = own;
      if (own.length !== 1) return [`${nameOf(task)} has ${own.length} posts in its thread`];
      if (answer?.threadTs !== task.threadTs)
        return [`${nameOf(task)} is answered in another thread`];
      return answer.text === answerTo(textOf(task))
        ? []
        : [`${nameOf(task)} is answered with other words`];
    }),
  ];
}

function startProblems(
  askedTasks: readonly AskedTask[],
  agentEvents: readonly AgentEvent[],
): string[] {
  const starts = Map.groupBy(
    agentEvents.filter(({ type }) => type === "started"),
    ({ requestId }) => requestId,
  );
  return askedTasks.flatMap((task) => {
    const count = starts.get(task.requestId)?.length ?? 0;
    return count === 1 ? [] : [`The agent of ${nameOf(task)} was started ${count} times`];
  });
}

/** In a thread each agent must end before the next one starts, in the order of the messages. */
function orderProblems(
  askedTasks: readonly AskedTask[],
  agentEvents: readonly AgentEvent[],
): string[] {
  const threadOf = new Map(askedTasks.map(({ requestId, threadTs }) => [requestId, threadTs]));
  const happened = Map.groupBy(agentEvents, ({ requestId }) => threadOf.get(requestId));
  const threads = Map.groupBy(askedTasks, ({ threadTs }) => threadTs);
  return [...threads].flatMap(([threadTs, tasks]) => {
    if (tasks.length === 1) return [];
    const wanted = tasks.flatMap(({ requestId }) => [`started ${requestId}`, `ended ${requestId}`]);
    const seen = (happened.get(threadTs) ?? []).map(
      ({ type, requestId }) => `${type} ${requestId}`,
    );
    const numbers = tasks.map(({ number }) => number).join(", ");
    return wanted.join() === seen.join()
      ? []
      : [`The tasks ${numbers} of one thread were not done one after the other`];
  });
}

function nameOf({ number, requestId }: AskedTask): string {
  return `task ${number} (${requestId})`;
}

/** The bounds of the last sample relative to the first, which comes after a tenth of the tasks. */
const most = { heapBytes: 1.5, rssBytes: 2 } as const;

export type MemoryRow = {
  zone: "verification" | "execution";
  kind: keyof Memory;
  megabytes: number[];
  ratio: number;
};

export function memoryRows(samples: readonly MemorySample[]): MemoryRow[] {
  const zones = ["verification", "execution"] as const;
  const kinds = ["heapBytes", "rssBytes"] as const;
  return zones.flatMap((zone) =>
    kinds.map((kind) => {
      const bytes = samples.map((sample) => sample[zone][kind]);
      const ratio = (bytes.at(-1) ?? 0) / (bytes[0] ?? 0);
      return { zone, kind, megabytes: bytes.map((count) => count / 1e6), ratio };
    }),
  );
}

/** Returns a line for each memory that grew beyond its bound. */
export function memoryProblems(samples: readonly MemorySample[]): string[] {
  return memoryRows(samples).flatMap(({ zone, kind, ratio }) => {
    if (ratio <= most[kind]) return [];
    return [`The ${zone} zone's memory (${kind}) grew to ${ratio.toFixed(2)} times over the run`];
  });
}
