/** Whether the record, the thread and the Execution zone's task say the same of one message. */
import type { ExecutionTask } from "../../lambdas/execution/host/execution-task.ts";
import { createTaskText } from "../../lambdas/verification/slack/answer-text.ts";
import { placeholderPart, questionPart } from "../../lambdas/verification/slack/post-parts.ts";
import type { Task } from "../../lambdas/verification/task/task.ts";
import type { HistoryEntry } from "../../lambdas/verification/usage-history/entry.ts";
import type { Asked } from "./people.ts";
import { agentsAnswer } from "./sim-agent.ts";
import type { Post } from "./sim-slack.ts";

/** One message with what became of it everywhere. */
export type Fate = {
  asked: Asked;
  /** It is in the thread of another message, and nothing went wrong that could have kept that one back. */
  isThreadKnown: boolean;
  record: Task | undefined;
  /** What the usage history says of it. */
  noted: HistoryEntry | undefined;
  posts: readonly Post[];
  executed: ExecutionTask | undefined;
  /** How far the clock is ahead that the record's times are of. */
  zoneAheadMs: number;
};

const taskText = createTaskText({ locale: "en" });

/** What the thread shows, where that is not each part of the answer once, with its own text. */
export function oddAnswer({ record, posts, asked, executed }: Fate): string | undefined {
  const shown = posts
    .filter(({ key }) => key !== undefined && key.part > placeholderPart && key.part < questionPart)
    .map(({ text, blocks }) => ({ text, blocks }));
  // The host keeps longer what it answered.
  const text = executed?.outcome?.type === "success" ? executed.outcome.text : agentsAnswer(asked);
  const outcome = record?.outcome ?? { type: "answer" as const, text };
  // A file that cannot be uploaded for a quarter of a minute is told instead.
  const untold = { ...outcome, artifacts: executed?.artifacts, uploads: [{ failed: true as const }] };
  const outcomes =
    executed?.artifacts === undefined || outcome.type !== "answer" ? [outcome] : [outcome, untold as typeof outcome];
  const [wanted = [], ...others] = outcomes.map((each) =>
    record === undefined || isIgnored({ asked, record })
      ? []
      : taskText.parts({ ...record, outcome: each }).map((part) => ({ text: part.text, blocks: part.blocks ?? [] })),
  );
  if ([wanted, ...others].some((parts) => JSON.stringify(shown) === JSON.stringify(parts))) return undefined;
  return `${shown.length} posts where ${wanted.length} are due: ${JSON.stringify(shown)}`;
}

/** A reply that does not speak to the bot, and meant none of its tasks. */
function isIgnored({ asked, record }: { asked: Asked; record: Task }): boolean {
  return asked.isUnaddressed && record.outcome === undefined && record.deadlineAtMs === undefined;
}

/** A task that is over and not in the usage history, or there although it was none, or with another end. */
export function oddNote({ asked, record, noted }: Fate): string | undefined {
  const { outcome } = record ?? {};
  const isNone = record === undefined || isIgnored({ asked, record }) || outcome?.type === "canceling";
  if (isNone) return noted === undefined ? undefined : `${noted.requestId} was no task`;
  if (record.state !== "done") return undefined;
  if (noted === undefined) return `${record.id} is not in it`;
  // An answer is forgotten once it was delivered, and one that Slack does not take becomes a failure.
  const isAnswered = outcome === undefined || outcome.type === "answer";
  const isSame = isAnswered === (noted.outcome === "answered") || noted.reason === "slack";
  return isSame ? undefined : `${record.id} is ${noted.outcome} in it`;
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
  // Where it could not be canceled it ends there by itself, in the time that it has.
  unanswered: ["canceled", "failed", "nothing", "input_required"],
  execution_failed: ["failed"],
  timeout: ["failed", "canceled", "nothing"],
  // What was given up is taken back, unless the host is away for that as well: then nobody starts it.
  unavailable: ["nothing", "canceled", "submitted", "input_required", "failed"],
  internal: ["nothing"],
};

export function disagreement({ asked, record, executed }: Fate): string | undefined {
  const state = executed?.state ?? "nothing";
  const outcome = record?.outcome;
  const isUnheard = record === undefined ? asked.isUnaddressed : isIgnored({ asked, record });
  const unsaid = isUnheard ? "ignored" : "answer";
  const said = outcome?.type === "failed" ? outcome.reason : (outcome?.type ?? unsaid);
  if (fitting[said]?.includes(state) !== false) return undefined;
  return `the record says ${said}, the host says ${state}`;
}
