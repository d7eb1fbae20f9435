/** The act that shows progress, in a native Slack stream for a partial answer, or else by an edit of the placeholder. */

import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import { maxMessages } from "../slack/messages/answer-text.ts";
import {
  nextStreamPiece,
  type StreamContent,
  type StreamPiece,
} from "../slack/messages/stream-piece.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { ProgressShown } from "../task/events.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";
import type { PacedCall, SlackPace } from "./slack-pace.ts";

type Stream = NonNullable<Task["stream"]>;
type Request = {
  slack: SlackApi;
  task: Task;
  text: TaskText;
  now: () => number;
  signal: AbortSignal;
  /** Without it, the call is made at once. */
  pace?: SlackPace | undefined;
};

/** Slack closes a stream after about five minutes, and text appended later is lost. */
const rollOverAfterMs = 230_000;
/** At this length the stream continues in a new message, because Slack refuses much longer ones. */
const fullLength = 10_000;
const timeoutMs = 5000;

/** Shows the task's progress. A failure of Slack is ignored, because the answer follows anyway. */
export async function showProgress(
  request: Request & { streaming: boolean },
): Promise<ProgressShown> {
  const { task, streaming } = request;
  const limitedRequest = {
    ...request,
    signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]),
  };
  const partialText = task.progress?.partialText;
  if (partialText === undefined || !streaming || task.stream?.refused)
    return editInTurn(limitedRequest);
  const streamResult = await showStream(limitedRequest, partialText);
  // A stream shows the text, and the placeholder the steps.
  if (
    task.progress?.steps === undefined ||
    streamResult.isStopped ||
    streamResult.delayMs !== undefined
  )
    return streamResult;
  const editResult = await editInTurn(limitedRequest);
  // The text does not wait until the placeholder may be edited again.
  return editResult.delayMs !== undefined && streamResult.stream !== undefined
    ? streamResult
    : { ...streamResult, ...editResult };
}

/** The time until the task's turn, if it is not yet. */
function readPaceDelay({ task, pace }: Request, call: PacedCall): number {
  const { enterprise, team } = installationOf(task);
  return pace?.({ team: enterprise ?? team, call, requestId: task.id }) ?? 0;
}

async function editInTurn(request: Request): Promise<ProgressShown> {
  const delayMs = readPaceDelay(request, "edit");
  return delayMs > 0 ? { delayMs } : editPlaceholder(request);
}

async function editPlaceholder({ slack, task, text, signal }: Request): Promise<ProgressShown> {
  if (task.placeholder === undefined) return {};
  const post = {
    installation: installationOf(task),
    channel: threadRefOf(task).channel,
    ts: task.placeholder.ts,
  };
  const key = { requestId: task.id, kind: "placeholder", index: 0 } as const;
  const edit = (form: Task) =>
    slack.update({ ...post, content: text.placeholder(form), key, signal });
  try {
    await edit(task).catch((error: unknown) => {
      const isRefused = error instanceof SlackError && error.kind === "refused";
      // Some workspaces have no blocks for steps.
      if (!isRefused || task.progress?.steps === undefined) throw error;
      return edit({ ...task, mrkdwnFallback: true });
    });
    return {};
  } catch (error) {
    return toFailedProgress(error);
  }
}

async function showStream(request: Request, text: string): Promise<ProgressShown> {
  const { task, now } = request;
  const stream: Stream = task.stream ?? { messages: [], length: 0 };
  const latest = stream.messages.at(-1);
  const current =
    latest !== undefined && canAppend({ ...latest, nowMs: now() }) ? latest : undefined;
  // Each message of a long stream must be deleted later, so from here on the placeholder shows the newest text.
  if (current === undefined && stream.messages.length >= maxMessages)
    return { stream: { ...stream, refused: true } };
  const piece = cutPiece({ text, from: stream.length, shows: current?.shows });
  // The first words are awaited most.
  if (piece.type === "none") return latest === undefined ? { delayMs: 0 } : {};
  // The new text does not continue the shown one, so edits of the placeholder show it from now on.
  if (piece.type === "broken") return { stream: { ...stream, refused: true } };
  const delayMs = readPaceDelay(request, current === undefined ? "start" : "append");
  if (delayMs > 0) return { delayMs };
  try {
    if (current === undefined) return { stream: await startMessage(request, stream, piece) };
    await appendPiece(request, { ts: current.ts, markdown: piece.markdown });
    const messages = [...stream.messages.slice(0, -1), { ...current, shows: piece.shows }];
    return { stream: { ...stream, messages, length: piece.end } };
  } catch (error) {
    const failure = toFailedProgress(error);
    if (isStoppedByUser(error)) return { stream: { ...stream, refused: true }, isStopped: true };
    if (isTerminal(error)) return { ...failure, stream: { ...stream, refused: true } };
    // It may be unknown whether the text or a message was posted. The answer replaces either.
    const doubt = failure.inDoubt && {
      stream: { ...stream, refused: true as const, inDoubt: true as const },
    };
    return { ...failure, inDoubt: false, ...doubt };
  }
}

/** Returns the next piece of the text. If cutting it throws, it is `broken`, and the placeholder shows the text. */
function cutPiece(request: Parameters<typeof nextStreamPiece>[0]): StreamPiece {
  try {
    return nextStreamPiece(request);
  } catch {
    return { type: "broken" };
  }
}

function canAppend(message: {
  startedAtMs: number;
  shows?: StreamContent | undefined;
  nowMs: number;
}): boolean {
  const { startedAtMs, shows, nowMs } = message;
  return nowMs - startedAtMs < rollOverAfterMs && shows !== undefined && shows.length < fullLength;
}

type Piece = Extract<StreamPiece, { type: "piece" }>;

/** Begins a new message of the stream, and closes the former one. */
async function startMessage(
  { slack, task, now, signal }: Request,
  stream: Stream,
  piece: Piece,
): Promise<Stream> {
  const call = { installation: installationOf(task), requestId: task.id, signal };
  const threadRef = threadRefOf(task);
  const previousMessage = stream.messages.at(-1);
  if (previousMessage !== undefined)
    await slack.stopStream({ ...call, channel: threadRef.channel, ts: previousMessage.ts });
  const { user, team, userTeam = team } = task.message;
  const startedAtMs = now();
  const { markdown, shows, end } = piece;
  const { ts } = await slack.startStream({ ...call, ...threadRef, user, team: userTeam, markdown });
  return { ...stream, messages: [...stream.messages, { ts, startedAtMs, shows }], length: end };
}

async function appendPiece(
  { slack, task, signal }: Request,
  { ts, markdown }: { ts: string; markdown: string },
) {
  const { channel } = threadRefOf(task);
  await slack.appendStream({
    installation: installationOf(task),
    channel,
    ts,
    markdown,
    requestId: task.id,
    signal,
  });
}

/** `inDoubt`: the edit may still arrive and must not overwrite the answer. `delayMs`: Slack's rate limit. */
function toFailedProgress(error: unknown): ProgressShown {
  if (!(error instanceof SlackError)) throw error;
  if (error.kind === "ambiguous") return { inDoubt: true };
  return error.kind === "rate_limited" ? { delayMs: error.retryAfterMs ?? 30_000 } : {};
}

/** A person has stopped the stream in Slack, which cancels the task. */
function isStoppedByUser(error: unknown): boolean {
  return error instanceof SlackError && error.slackError === "stopped_by_user";
}

function isTerminal(error: unknown): boolean {
  return error instanceof SlackError && ["gone", "refused", "no_such_message"].includes(error.kind);
}
