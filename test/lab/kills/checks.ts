/** Checks the promise for each message. Every line names a message of which it was broken. Pure. */
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { isOutcome, type PostId } from "@sekisho/verification/slack/api/post-keys.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { MessageKind } from "./people.ts";

/** All that is known of a message in the end. */
export type Evidence = {
  requestId: string;
  kind: MessageKind;
  /** The event was answered with 200. */
  isTaken: boolean;
  /** The bot's posts for it. */
  posts: readonly (PostId & { text: string })[];
  /** The number of posts with files of the answer. */
  files: number;
  starts: number;
  /** The requests whose agents were at work when its own started. */
  overlaps: readonly string[];
  record: Task | undefined;
  hostTask: ExecutionTask | undefined;
};

/** Only the echo agent says this. */
const agentsText = "I'm the echo agent";

export function violationsOf({
  evidence,
  others,
}: {
  evidence: Evidence;
  others: Map<string, Evidence>;
}): string[] {
  const { requestId, kind, posts, files, starts, record, hostTask, overlaps } = evidence;
  const problems: string[] = [];
  const check = (holds: boolean, problem: string) => {
    if (!holds) problems.push(`${requestId} (${kind}): ${problem}`);
  };
  if (isUnheard(evidence)) {
    check(posts.length === 0 && starts === 0, "it was never accepted, and yet it has effects");
    return problems;
  }
  if (kind === "refused") {
    // A refusal is shown at most once in a while. One that is not shown has no record.
    check(
      record === undefined || record.state === "done",
      `its record is ${record?.state}, not done`,
    );
    check(posts.length <= 1, `it got ${posts.length} posts`);
    check(starts === 0, "an agent was started for it");
    return problems;
  }
  const parts = posts.filter(isOutcome).map(({ index }) => index);
  const questions = posts.filter(({ kind }) => kind === "question");
  // The agent starts for the question and again for the reply.
  const mostStarts = kind === "asked" ? 2 : 1;
  check(record?.state === "done", `its record is ${record?.state ?? "missing"}, not done`);
  check(parts.length + questions.length === posts.length, "its placeholder remains");
  check(questions.length <= (kind === "asked" ? 1 : 0), `it has ${questions.length} questions`);
  // A second request to cancel is answered to its writer alone, at most once in a while.
  const isToldAlone = kind === "cancel" && record?.outcome?.type === "canceling";
  check(parts.length > 0 || isToldAlone, "it has no answer");
  check(new Set(parts).size === parts.length, `it has parts twice: ${parts}`);
  check(Math.max(-1, ...parts) + 1 === new Set(parts).size, `parts are missing: ${parts}`);
  check(starts <= mostStarts, `its agent was started ${starts} times`);
  check(starts === 0 || kind !== "cancel", "an agent was started for it");
  if (isAnswer(evidence)) {
    check(
      hostTask?.state === "completed",
      `it is answered, and its host reports ${hostTask?.state}`,
    );
    check(starts === mostStarts, `it is answered, and its agent was started ${starts} times`);
    const isShared = posts.some(({ text }) => text.includes("couldn't attach")) ? 0 : 1;
    check(
      files === (kind === "filed" ? isShared : 0),
      `it is answered, and its file is there ${files} times`,
    );
  }
  check(
    hostTask?.state !== "working" || isGivenUp(record),
    "its answer is there, and its agent still works",
  );
  for (const other of overlaps) {
    const before = others.get(other)?.record;
    const isOutOfTurn = before?.thread === record?.thread && !isGivenUp(before);
    check(!isOutOfTurn, `its agent was started while ${other} of the same thread was at work`);
  }
  return problems;
}

/** True if no delivery got through. One that Slack gave up on may have been enqueued, and is then a task like any other. */
export function isUnheard({ isTaken, record }: Pick<Evidence, "isTaken" | "record">): boolean {
  return !isTaken && record === undefined;
}

/** Returns `answer`, or the kind of our own text that is in the thread. */
export function outcomeOf(evidence: Evidence): string {
  if (isAnswer(evidence)) return "answer";
  const { outcome } = evidence.record ?? {};
  if (outcome?.type !== "failed") return outcome?.type ?? "unknown";
  return outcome.lost ? "lost" : outcome.reason;
}

/** True if the agent's own text is in the thread. */
function isAnswer({ posts }: Pick<Evidence, "posts">): boolean {
  return posts.some(
    ({ kind, index, text }) => kind === "answer" && index === 0 && text.includes(agentsText),
  );
}

/** True if the user was told that the agent may still be at work. */
function isGivenUp(record: Task | undefined): boolean {
  const { outcome } = record ?? {};
  return (
    outcome?.type === "failed" && (outcome.reason === "ambiguous" || outcome.reason === "timeout")
  );
}

/** Returns the names of the secrets that the text holds. */
export function leaksOf({
  text,
  secrets,
}: {
  text: string;
  secrets: Record<string, string>;
}): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    text.includes(secret) ? [`${name} is in a log`] : [],
  );
}
