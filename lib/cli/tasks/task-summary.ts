/** Summarizes a task for a terminal, without the record's internals and without its texts. */

import type { TimelineStep } from "@sekisho/local/recorder/timeline.ts";
import { formatDuration } from "@sekisho/local/web/duration.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { countVotes } from "@sekisho/verification/usage/entry.ts";
import { formatNamed, namesOf, noNames } from "../names/named-task.ts";
import type { FoundNames } from "../names/slack-names.ts";
import { formatTable } from "../table.ts";
import { describeNextStep, describeOutcome, formatTime } from "./text.ts";

type Summarized = {
  task: Task;
  timeline: readonly TimelineStep[];
  nowMs: number;
  names?: FoundNames;
};

/** Lines: what the task is, then its timeline. */
export function formatTaskSummary({
  task,
  timeline,
  nowMs,
  names = noNames,
}: Summarized): string[] {
  const rows = Object.entries(factsOf({ task, nowMs, names })).flatMap(([name, value]) =>
    value ? [[`  ${name}`, sanitizeLine(value)]] : [],
  );
  return [
    `Task ${task.id}`,
    ...formatTable(rows),
    "Timeline",
    ...formatTable(timelineRows(timeline)),
  ];
}

/** A fact without a value is left out. */
function factsOf({
  task,
  nowMs,
  names,
}: Required<Omit<Summarized, "timeline">>): Record<string, string | false | undefined> {
  const { state, message, call, wait, attempts, votes } = task;
  const { userName, channelName, link } = namesOf({ task, names });
  const isOpen = state !== "done";
  const formatAt = (atMs: number | undefined) => atMs !== undefined && formatMoment(atMs, nowMs);
  const { up, down } = countVotes(votes);
  return {
    State: state,
    Next: isOpen && describeNextStep({ task, nowMs }),
    Outcome: describeOutcome(task),
    Asked: formatAt(task.receivedAtMs),
    Person: formatNamed(message.user, userName),
    Channel: formatNamed(message.channel, channelName),
    Workspace: message.team,
    Thread: task.thread,
    Link: link,
    Destination: call?.destination,
    "Execution task id": call?.taskId,
    "Trace id": readTraceId(task.trace),
    Deadline: isOpen && formatAt(call?.deadlineAtMs),
    "Next poll": isOpen && formatAt(wait?.nextPollAtMs),
    Polls: wait !== undefined && wait.polls > 0 && String(wait.polls),
    "Failed attempts": attempts > 0 && String(attempts),
    Question: task.question && questionText(task.question, nowMs),
    Message: messageText(message),
    Votes: up + down > 0 && `👍 ${up}, 👎 ${down}`,
    "Retry of": task.retryOf,
  };
}

function messageText({ text, files = [] }: Task["message"]): string {
  const parts = [
    text.length > 0 && count(text.length, "character"),
    files.length > 0 && count(files.length, "file"),
  ];
  return parts.filter(Boolean).join(", ");
}

function questionText(
  { askedAtMs, expiresAtMs, answer }: NonNullable<Task["question"]>,
  nowMs: number,
): string {
  const askedText = `asked ${formatAway(askedAtMs, nowMs)}`;
  if (answer === undefined) return `${askedText}, open until ${formatMoment(expiresAtMs, nowMs)}`;
  return `${askedText}, answered by ${answer.user} ${formatAway(answer.atMs, nowMs)}`;
}

function timelineRows(steps: readonly TimelineStep[]): string[][] {
  const rows = steps.map(({ atMs, zone, title, detail }, index) => [
    `  ${formatTime(atMs)}`,
    index === 0 ? "" : `+${formatDuration(atMs - (steps[index - 1]?.atMs ?? atMs))}`,
    zone,
    title,
    Object.entries(detail)
      .map(([name, value]) => sanitizeLine(`${name}=${value}`))
      .join(" "),
  ]);
  return [["  at", "after", "zone", "step"], ...rows];
}

function formatMoment(atMs: number, nowMs: number): string {
  return `${formatTime(atMs)}  ${formatAway(atMs, nowMs)}`;
}

function formatAway(atMs: number, nowMs: number): string {
  return atMs > nowMs
    ? `in ${formatDuration(atMs - nowMs)}`
    : `${formatDuration(nowMs - atMs)} ago`;
}

function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}
