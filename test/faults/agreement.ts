/** Compares the thread with what a person may expect of a message, and the records of both zones with each other. */
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { Task, TaskOutcome } from "@sekisho/verification/task/task.ts";
import type { UsageEntry } from "@sekisho/verification/usage/entry.ts";
import type { Post } from "../world/memory-slack.ts";
import type { Expectation } from "./expectation.ts";
import type { Asked } from "./people.ts";
import { agentsAnswer } from "./sim-agent.ts";
import type { World } from "./world.ts";

/** One message with what became of it everywhere. */
export type Fate = {
  message: Asked;
  expected: Expectation;
  record: Task | undefined;
  /** What `sekisho usage` says of it: what its record notes, or an entry of version 1.0.0. */
  counted: UsageEntry | undefined;
  posts: readonly Post[];
  executed: ExecutionTask | undefined;
  /** The difference of the clock that the record's times come from. */
  zoneAheadMs: number;
};

type Shown = readonly Pick<Post, "text" | "blocks">[];

const taskText = createTaskText({ locale: "en", feedback: true });

/** Describes the shown posts unless they are each expected part once, with its own text. */
export function oddAnswer(fate: Fate): string | undefined {
  const { expected, record } = fate;
  const shown = shownOf(fate);
  if (expected.texts === undefined) return oddText(fate);
  const isNone = shown.length === 0 && expected.answer !== "owed";
  if (isNone) return undefined;
  const wanted =
    expected.answer === "none" || record === undefined ? [] : wantedOf({ fate, record });
  const text = toComparedText(shown);
  if (wanted.some((parts) => toComparedText(parts) === text)) return undefined;
  return `${shown.length} posts where ${wanted[0]?.length ?? 0} are due: ${text}`;
}

/** Ignores `verbatim`, which posts of 1.0.0 do not have. */
function toComparedText(shownJson: Shown): string {
  return JSON.stringify(shownJson, (name, value) => (name === "verbatim" ? undefined : value));
}

/** Checks an answer of unknown text: each part once, and something visible. */
function oddText(fate: Fate): string | undefined {
  const parts = fate.posts.flatMap(({ key }) => (key && isOutcome(key) ? key : []));
  if (fate.expected.answer === "none")
    return parts.length === 0 ? undefined : "an answer to what needs none";
  if (fate.expected.answer === "either" && parts.length === 0) return undefined;
  const isWhole =
    parts.length > 0 &&
    parts.every(({ kind, index }, nth) => kind === parts[0]?.kind && index === nth);
  const isVisible = shownOf(fate).some((post) => /[\p{L}\p{N}]/u.test(seenIn(post)));
  return isWhole && isVisible
    ? undefined
    : `parts ${parts.map(({ kind, index }) => `${kind} ${index}`).join()}${isVisible ? "" : ", with nothing to be seen"}`;
}

/** The visible text of a post: its blocks, if it has any. Markdown shows neither link definitions nor fences. */
function seenIn({ text, blocks }: Shown[number]): string {
  const words = blocks.length === 0 ? text : blocks.flatMap(textLinesIn).join("\n");
  return words.replace(/^\s*\[[^\]]+\]:\s*\S+.*$/gm, "").replace(/^\s*(`{3,}|~{3,}).*$/gm, "");
}

/** Only those of its own words: buttons say nothing of an answer. */
function textLinesIn({ type, text }: Post["blocks"][number]): string[] {
  if (type === "markdown") return [String(text)];
  if (type === "section") return [String((text as { text?: string } | undefined)?.text ?? "")];
  return ["actions", "context", "context_actions"].includes(type)
    ? []
    : [JSON.stringify(text ?? type)];
}

function shownOf({ posts }: Fate): Shown {
  return posts.filter(({ key }) => isOutcome(key)).map(({ text, blocks }) => ({ text, blocks }));
}

/**
 * What the agent may have said; or what the record says that it said instead, for which there must be an excuse. The record
 * is asked how these words look, not whether any are owed.
 */
function wantedOf({ fate: { expected, executed }, record }: { fate: Fate; record: Task }): Shown[] {
  const { outcome } = record;
  const isAnswer = outcome === undefined || outcome.type === "answer";
  if (!isAnswer) return [render({ record, outcome }), renderWithoutRetry({ record, outcome })];
  const known = outcome ?? { type: "answer" as const, text: "" };
  return (expected.texts ?? []).flatMap((text) => {
    const answer = { ...known, text };
    // A file that cannot be uploaded for a quarter of a minute is told instead.
    const withoutFile = {
      ...answer,
      artifacts: executed?.artifacts,
      uploads: [{ failed: true as const }],
    };
    const both =
      executed?.artifacts === undefined ? [answer] : [answer, withoutFile as typeof answer];
    return both.map((each) => render({ record, outcome: each }));
  });
}

function render({ record, outcome }: { record: Task; outcome: TaskOutcome }): Shown {
  return taskText.parts({ ...record, outcome }).map(({ text, blocks = [] }) => ({ text, blocks }));
}

/** The same after somebody has tried it again. */
function renderWithoutRetry({ record, outcome }: { record: Task; outcome: TaskOutcome }): Shown {
  const task = { ...record, outcome };
  return taskText.parts(task).map(({ text: said }) => {
    const { text, blocks = [] } = taskText.withoutRetry({ task, text: said });
    return { text, blocks };
  });
}

/** It was neither answered nor was an answer owed. */
function isSilent(fate: Fate): boolean {
  return fate.expected.answer !== "owed" && shownOf(fate).length === 0;
}

/** A wish to cancel came to nothing, although what it was about was still under way when it was dealt with. */
export function lostWish({
  fates,
  hasFaults,
}: {
  fates: readonly Fate[];
  hasFaults: boolean;
}): string | undefined {
  for (const wish of fates.filter(isKnownWish)) {
    const { requestId, threadTs, ts } = wish.message;
    if (shownOf(wish).length > 0) continue;
    if (!hasFaults) return `${requestId} came to nothing`;
    if (wish.record === undefined) return `${requestId} was dropped`;
    const dealtWithMs = wish.record.history.find(({ state }) => state === "done")?.atMs ?? 0;
    const meant = fates.filter(
      ({ message }) => message.threadTs === threadTs && Number(message.ts) < Number(ts),
    );
    const left = meant.find(
      ({ record }) => overAtMs(record) > dealtWithMs + clocksApartMs && !isOutOfTime(record),
    );
    if (left !== undefined)
      return `${requestId} came to nothing, and ${left.message.requestId} was under way`;
  }
  return undefined;
}

function isKnownWish({ expected }: Fate): boolean {
  return expected.isCancel && expected.isThreadKnown && expected.answer !== "none";
}

/** It was being ended already, because its time was over. Then there is nothing left to cancel. */
function isOutOfTime(record: Task | undefined): boolean {
  return record?.outcome?.type === "failed" && record.outcome.reason === "timeout";
}

/** So far the clocks of two processes of a zone can be apart, and a little more. */
const clocksApartMs = 30_000;

function overAtMs(record: Task | undefined): number {
  const over = record?.history.find(({ state }) => state === "delivering" || state === "done");
  return over?.atMs ?? Number.POSITIVE_INFINITY;
}

/** A reply to a question that stood in the thread was neither heard by the agent nor answered itself. */
export function lostReply({
  fates,
  isQuestionOver,
}: {
  fates: readonly Fate[];
  isQuestionOver: boolean;
}) {
  for (const { expected, record, message } of fates) {
    if (!isQuestionOver && expected.hasReply && record?.outcome?.type === "unanswered")
      return message.requestId;
  }
  return undefined;
}

/** A task that is over and not counted as use, or counted although it was none, or with another end. */
export function oddUse({ fate, isExempt }: { fate: Fate; isExempt: boolean }): string | undefined {
  const { record, counted: entry, expected, message } = fate;
  // It may have been given up before it was known to be for the bot.
  if (isExempt && message.isUnaddressed) return undefined;
  const { outcome } = record ?? {};
  // Where the channel is gone nothing is shown, whatever it was.
  const isNone =
    record === undefined ||
    outcome?.type === "canceling" ||
    (isSilent(fate) && outcome === undefined);
  if (
    isNone &&
    expected.answer === "either" &&
    entry !== undefined &&
    outcome?.type !== "canceling"
  )
    return undefined;
  if (isNone) return entry === undefined ? undefined : `${entry.requestId} was no task`;
  if (record.state !== "done") return undefined;
  if (entry === undefined) return `${record.id} is not counted`;
  // An answer is forgotten once it was delivered, and one that Slack does not take becomes a failure.
  const isAnswered = outcome === undefined || outcome.type === "answer";
  const isSame = isAnswered === (entry.outcome === "answered") || entry.reason === "slack";
  return isSame ? undefined : `${record.id} is counted as ${entry.outcome}`;
}

/**
 * What the record says at the end, and which states the host's task can then be in. An answer is forgotten once it was
 * delivered. What is not sent is nothing at the host; what is canceled may not have been sent either.
 */
const fitting: Partial<Record<string, readonly string[]>> = {
  answer: ["completed"],
  ignored: ["nothing"],
  refused: ["nothing"],
  limited: ["nothing"],
  too_old: ["nothing"],
  canceling: ["nothing"],
  canceled: ["canceled", "nothing"],
  // Where it could not be canceled it ends there by itself, in the time that it has.
  unanswered: ["canceled", "failed", "nothing", "input_required"],
  execution_failed: ["failed"],
  timeout: ["failed", "canceled", "nothing"],
  // What was given up is taken back. Where that is not certain, the record says `ambiguous`.
  unavailable: ["nothing", "canceled"],
  internal: ["nothing"],
};

/**
 * `isApart`: the zones could not reach each other for so long that each came to its own end, or has forgotten the task. `hasStarted`: its
 * agent. Without it, `working` is a claim of which its host has never heard, so that nobody starts the agent: as `submitted`.
 */
export function disagreement({
  fate,
  isApart,
  hasStarted,
}: {
  fate: Fate;
  isApart: boolean;
  hasStarted: boolean;
}): string | undefined {
  const { record, executed } = fate;
  const state =
    executed?.state === "working" && !hasStarted ? "submitted" : (executed?.state ?? "nothing");
  const outcome = record?.outcome;
  const unsaid = isSilent(fate) ? "ignored" : "answer";
  if (isApart && (outcome?.type === "failed" || executed === undefined)) return undefined;
  const said = outcome?.type === "failed" ? outcome.reason : (outcome?.type ?? unsaid);
  if (fitting[said]?.includes(state) !== false) return undefined;
  return `the record says ${said}, the host says ${state}`;
}

/**
 * What people think of an answer, and what the records of both zones have of it. In a run of few faults nothing of it may be missing: a
 * click that the queue gave up on is lost, and its person sees that.
 */
export function oddVotes(request: {
  fate: Fate;
  given: World["votes"];
  isComplete: boolean;
}): string | undefined {
  const { fate, given: options, isComplete } = request;
  const stored = fate.record?.votes?.map(({ vote }) => vote).sort() ?? [];
  const people = new Set(options.map(({ user }) => user));
  if (stored.length > people.size) return `${stored.length} votes of ${people.size} people`;
  if (!isComplete) return undefined;
  const due = [...people]
    .map((user) => possibleVotes(options.filter((one) => one.user === user)))
    .reduce<string[][]>(
      (all, votes) => all.flatMap((oldValue) => votes.map((vote) => [...oldValue, vote])),
      [[]],
    )
    .map((votes) =>
      votes
        .filter((vote) => vote !== "")
        .sort()
        .join(),
    );
  if (!due.includes(stored.join()))
    return `${due.join(" or ")} is due, and ${stored.join() || "nothing"} is stored`;
  const hostVotes = fate.executed?.votes?.map(({ vote }) => vote).sort() ?? [];
  return hostVotes.join() === stored.join()
    ? undefined
    : `${stored.join()} is stored, ${hostVotes.join()} is told`;
}

/** The votes that a person may have in the end. One that was not heard to be taken may count or not. */
function possibleVotes(options: World["votes"]): string[] {
  const last = options.findLastIndex(({ isTaken }) => isTaken);
  const votes: string[] = options.slice(Math.max(last, 0)).map(({ vote }) => vote);
  return last < 0 ? ["", ...votes] : votes;
}

export function answeredByOtherText({
  fate,
  isPeace,
}: {
  fate: Fate;
  isPeace: boolean;
}): string | undefined {
  const { message, record, executed, posts } = fate;
  const newText = message.change?.text;
  const isAnswered = executed?.state === "completed" && record?.outcome === undefined;
  if (newText === undefined || record === undefined || !isAnswered) return undefined;
  const shownJson = JSON.stringify(posts);
  const hasNew = shownJson.includes(agentsAnswer({ text: newText }));
  // A retry reads the message from Slack, and its record does not say which version that was.
  const isTaken = record.retryOf === undefined ? record.message.editedTs !== undefined : hasNew;
  const isOdd =
    !(isTaken ? hasNew : shownJson.includes(agentsAnswer(message))) || (isPeace && !isTaken);
  return isOdd
    ? `${message.requestId} is answered ${isTaken ? "without" : "with"} its edit`
    : undefined;
}
