/** Whether a load run kept the promise: what the threads show and what the agents did, judged when all is over. Pure. */

import { metadataSchema, readPostKey } from "../../lambdas/verification/slack/api/posts.ts";
import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import type { AskedTask } from "./asker.ts";
import { answerTo, textOf } from "./plan.ts";

/** An agent's beginning or end, in the order in which they happened. */
export type AgentEvent = { type: "started" | "ended"; requestId: string };

/** What was broken, a line each; none where the promise was kept. */
export function problemsOf({
  asked,
  messages,
  agentEvents,
}: {
  asked: readonly AskedTask[];
  messages: readonly FakeSlackMessage[];
  agentEvents: readonly AgentEvent[];
}): string[] {
  return [
    ...answerProblems(asked, messages),
    ...startProblems(asked, agentEvents),
    ...orderProblems(asked, agentEvents),
  ];
}

/** Exactly one final answer, the agent's own; a placeholder that is left over is a post too many. */
function answerProblems(asked: readonly AskedTask[], messages: readonly FakeSlackMessage[]): string[] {
  const posts = Map.groupBy(
    messages.filter(({ user }) => user === workspace.botUser),
    (message) => readPostKey(metadataSchema.parse(message.metadata))?.requestId ?? "nobody",
  );
  const known = new Set(asked.map(({ requestId }) => requestId));
  const strangers = [...posts.keys()].filter((requestId) => !known.has(requestId));
  return [
    ...strangers.map((requestId) => `A post belongs to no task: ${requestId}`),
    ...asked.flatMap((task) => {
      const own = posts.get(task.requestId) ?? [];
      const [answer] = own;
      if (own.length !== 1) return [`${nameOf(task)} has ${own.length} posts in its thread`];
      if (answer?.threadTs !== task.threadTs) return [`${nameOf(task)} is answered in another thread`];
      return answer.text === answerTo(textOf(task)) ? [] : [`${nameOf(task)} is answered with other words`];
    }),
  ];
}

function startProblems(asked: readonly AskedTask[], agentEvents: readonly AgentEvent[]): string[] {
  const starts = Map.groupBy(
    agentEvents.filter(({ type }) => type === "started"),
    ({ requestId }) => requestId,
  );
  return asked.flatMap((task) => {
    const count = starts.get(task.requestId)?.length ?? 0;
    return count === 1 ? [] : [`The agent of ${nameOf(task)} was started ${count} times`];
  });
}

/** Within a thread each agent ends before the next one starts, and they start in the order of the messages. */
function orderProblems(asked: readonly AskedTask[], agentEvents: readonly AgentEvent[]): string[] {
  const threadOf = new Map(asked.map(({ requestId, threadTs }) => [requestId, threadTs]));
  const happened = Map.groupBy(agentEvents, ({ requestId }) => threadOf.get(requestId));
  const threads = Map.groupBy(asked, ({ threadTs }) => threadTs);
  return [...threads].flatMap(([threadTs, tasks]) => {
    if (tasks.length === 1) return [];
    const wanted = tasks.flatMap(({ requestId }) => [`started ${requestId}`, `ended ${requestId}`]);
    const seen = (happened.get(threadTs) ?? []).map(({ type, requestId }) => `${type} ${requestId}`);
    const numbers = tasks.map(({ number }) => number).join(", ");
    return wanted.join() === seen.join()
      ? []
      : [`The tasks ${numbers} of one thread were not done one after the other`];
  });
}

function nameOf({ number, requestId }: AskedTask): string {
  return `task ${number} (${requestId})`;
}
