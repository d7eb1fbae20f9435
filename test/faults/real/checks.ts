/** The promise, checked: each line that comes out of here is a message of which it was not kept. Pure. */
import type { ExecutionTask } from "../../../lambdas/execution/host/execution-task.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { QueuedMessage } from "./books.ts";
import type { Kind } from "./plan.ts";

/** All that is known of one message in the end. */
export type Evidence = {
  requestId: string;
  kind: Kind;
  /** The event was answered with 200. */
  isTaken: boolean;
  /** The bot's posts for it; part 0 is the placeholder. */
  posts: readonly { part: number; text: string }[];
  starts: number;
  record: Task | undefined;
  hostTask: ExecutionTask | undefined;
};

/** What the echo agent says, and nobody else. */
const agentsWords = "I am the echo agent";

export function violationsOf(evidence: Evidence): string[] {
  const { requestId, kind, isTaken, posts, starts, record, hostTask } = evidence;
  const problems: string[] = [];
  const check = (holds: boolean, problem: string) => {
    if (!holds) problems.push(`${requestId} (${kind}): ${problem}`);
  };
  // A message that Slack gave up on may have been enqueued all the same: then it is a task like any other.
  if (!isTaken && record === undefined) {
    check(posts.length === 0 && starts === 0, "it was never taken, and yet something came of it");
    return problems;
  }
  const parts = posts.map(({ part }) => part);
  check(record?.state === "done", `its record is ${record?.state ?? "missing"}, not done`);
  check(!parts.includes(0), "its placeholder was left over");
  check(parts.length > 0, "it has no answer");
  check(new Set(parts).size === parts.length, `it has parts twice: ${parts}`);
  check(Math.max(0, ...parts) === new Set(parts).size, `parts are missing: ${parts}`);
  check(starts <= 1, `its agent was started ${starts} times`);
  check(kind !== "refused" || starts === 0, "it was refused, and its agent was started");
  const isAnswered = isAnswer(evidence);
  check(!isAnswered || hostTask?.state === "completed", `it is answered, and its host says ${hostTask?.state}`);
  check(!isAnswered || starts === 1, `it is answered, and its agent was started ${starts} times`);
  check(!isLive(hostTask), `its answer is there, and its agent is ${hostTask?.state}`);
  return problems;
}

/** Whether the agent's own words are in the thread, and not ours about what became of it. */
export function isAnswer({ posts }: Pick<Evidence, "posts">): boolean {
  return posts.some(({ part, text }) => part === 1 && text.includes(agentsWords));
}

function isLive(hostTask: ExecutionTask | undefined): boolean {
  return hostTask?.state === "working";
}

/** Of what is left in the queues when all tasks are done: everything but sweeps that are still to come. */
export function leftoversOf({
  queued,
  recordOf,
}: {
  queued: readonly QueuedMessage[];
  recordOf: (requestId: string) => Task | undefined;
}): string[] {
  return queued.flatMap(({ queue, body }) => {
    const { type, requestId, seq } = JSON.parse(body) as { type: string; requestId: string; seq?: number };
    const record = recordOf(requestId);
    const isSweep = queue === "tasks" && type === "wake" && record?.state === "done" && seq === record.wakeSeq;
    return isSweep && !record.swept ? [] : [`${requestId}: a message ${type} was left in ${queue}`];
  });
}

export function leaksOf({ text, secrets }: { text: string; secrets: Record<string, string> }): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [`${name} is in a log`] : []));
}
