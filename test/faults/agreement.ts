/** Whether the record, the thread and the Execution zone's task say the same of one message. */
import type { ExecutionTask } from "../../lambdas/execution/host/execution-task.ts";
import { createAnswerText } from "../../lambdas/verification/slack/answer-text.ts";
import type { Task } from "../../lambdas/verification/task/task.ts";
import type { Asked } from "./people.ts";
import { agentsAnswer } from "./sim-agent.ts";
import type { Post } from "./sim-slack.ts";

/** One message with what became of it everywhere. */
export type Fate = {
  asked: Asked;
  record: Task | undefined;
  posts: readonly Post[];
  executed: ExecutionTask | undefined;
  /** How far the clock is ahead that the record's times are of. */
  zoneAheadMs: number;
};

const answerText = createAnswerText({ locale: "en" });

/** What the thread shows, where that is not each part of the answer once, with its own text. */
export function oddAnswer({ record, posts, asked }: Fate): string | undefined {
  const shown = posts.filter(({ key }) => (key?.part ?? 0) > 0).map(({ text }) => text);
  const outcome = record?.outcome ?? { type: "answer", text: agentsAnswer(asked) };
  const wanted = record === undefined || isIgnored({ asked, record }) ? [] : answerText.parts({ ...record, outcome });
  if (JSON.stringify(shown) === JSON.stringify(wanted)) return undefined;
  return `${shown.length} posts where ${wanted.length} are due: ${JSON.stringify(shown)}`;
}

/** A reply that does not speak to the bot, and meant none of its tasks. */
function isIgnored({ asked, record }: { asked: Asked; record: Task }): boolean {
  return asked.isUnaddressed && record.outcome === undefined;
}

/**
 * What the record says at the end, and which states the host's task can then be in. An answer is forgotten once it was
 * delivered. What is not sent is nothing at the host; what is canceled may not have been sent either.
 */
const fitting: Partial<Record<string, readonly string[]>> = {
  answer: ["completed"],
  ignored: ["nothing"],
  refused: ["nothing"],
  too_old: ["nothing"],
  canceling: ["nothing"],
  canceled: ["canceled", "nothing"],
  execution_failed: ["failed"],
  timeout: ["failed", "canceled", "nothing"],
  // What was given up is taken back, unless the host is away for that as well: then nobody starts it.
  unavailable: ["nothing", "canceled", "submitted"],
  internal: ["nothing"],
};

export function disagreement({ asked, record, executed }: Fate): string | undefined {
  const state = executed?.state ?? "nothing";
  const outcome = record?.outcome;
  const unsaid = record !== undefined && isIgnored({ asked, record }) ? "ignored" : "answer";
  const said = outcome?.type === "failed" ? outcome.reason : (outcome?.type ?? unsaid);
  if (fitting[said]?.includes(state) !== false) return undefined;
  return `the record says ${said}, the host says ${state}`;
}
