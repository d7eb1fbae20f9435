/** Shows a task's record to an A2A client, as a task or as a stream of events. The view depends on the record only. */
import { questionKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import type { A2aArtifact, Message, Part } from "@sekisho/contracts/a2a/part.ts";
import { type A2aTask, type StreamEvent, toA2aState } from "@sekisho/contracts/a2a/task.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { dropUndefined } from "@sekisho/runtime/untrusted-input.ts";
import { isAsking, isOver, listRecordsBetween } from "../tasks/changes.ts";
import {
  createQuestionMessage,
  deriveId,
  type ExecutionTask,
  runDefaults,
} from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";

/** `historyLength` limits the messages to the newest ones. */
export function toA2aTask(request: {
  task: ExecutionTask;
  historyLength?: number | undefined;
  pollAfterMs?: number;
}): A2aTask {
  const { task, historyLength, pollAfterMs = runDefaults.pollAfterMs } = request;
  const { id, state, question, a2a, artifacts: agentArtifacts = [], changedAtMs } = task;
  const message = statusMessage(task);
  const notes = createNotes({ task, pollAfterMs });
  const artifacts = toArtifacts({ agentArtifacts, answer: readAnswerText(task) });
  const history = pickNewest({ messages: a2a?.messages ?? [], count: historyLength });
  return {
    id,
    contextId: a2a?.contextId ?? "",
    status: {
      state: toA2aState({ state, kind: question?.kind }),
      ...(message && { message }),
      timestamp: new Date(changedAtMs).toISOString(),
    },
    ...(artifacts.length > 0 && { artifacts }),
    ...(history.length > 0 && { history }),
    ...(Object.keys(notes).length > 0 && { metadata: { [taskKey]: notes } }),
  };
}

/** An answer that needs no task, with the agent's files. Undefined if the client gets the task. */
export function createDirectMessage(task: ExecutionTask): Message | undefined {
  const { outcome, artifacts = [] } = task;
  if (outcome?.type !== "success" || outcome.direct !== true) return undefined;
  const files = artifacts.flatMap(toParts);
  const text = outcome.text === "" && files.length > 0 ? [] : [{ text: outcome.text }];
  const { taskId: _none, ...message } = createAgentMessage({
    task,
    name: "answer",
    parts: [...text, ...files],
  });
  return message;
}

/**
 * The agent's question or progress, or the fixed text of a failure's reason. An answer is an artifact alone, because messages should not
 * deliver outputs (A2A 1.0, section 3.7), and clients that show both would show it twice.
 */
function statusMessage(task: ExecutionTask): Message | undefined {
  const { question, progress, outcome, state } = task;
  if (question !== undefined) return createAskingMessage(task);
  if (!isOver(task)) {
    const { text = "" } = progress ?? {};
    return text === "" ? undefined : createTextMessage({ task, name: `progress ${text}`, text });
  }
  if (outcome?.type === "success") return undefined;
  const { message: text } = new SekishoError(outcome?.reason ?? "canceled");
  return createTextMessage({ task, name: state, text });
}

function createAskingMessage(task: ExecutionTask): Message | undefined {
  const { options, url, answerers, approvals } = task.question ?? {};
  const message = createQuestionMessage(task);
  const notes = dropUndefined({ options, url, answerers, approvals });
  const hasNotes = Object.keys(notes).length > 0;
  return message && { ...message, ...(hasNotes && { metadata: { [questionKey]: notes } }) };
}

/** The poll interval and the progress of a running task, or the reason of a failure for clients that know Sekisho's reasons. */
function createNotes({
  task,
  pollAfterMs,
}: {
  task: ExecutionTask;
  pollAfterMs: number;
}): Record<string, unknown> {
  const { outcome, progress } = task;
  if (outcome?.type === "failure")
    return { reason: outcome.reason, ...(outcome.lost && { lost: true }) };
  if (isOver(task) || isAsking(task)) return {};
  const { percent, steps } = progress ?? {};
  return {
    poll_after_ms: pollAfterMs,
    ...(percent !== undefined && { percent }),
    ...(steps && { steps }),
  };
}

/** The answer, or the beginning of one that the agent is writing. */
function readAnswerText({ outcome, state, progress }: ExecutionTask): string {
  if (outcome?.type === "success") return outcome.text;
  return state === "working" ? (progress?.partial_text ?? "") : "";
}

function createTextMessage({
  task,
  name,
  text,
}: {
  task: ExecutionTask;
  name: string;
  text: string;
}): Message {
  return createAgentMessage({ task, name, parts: [{ text }] });
}

/** A task has at most one message for each name, because the name is part of its id. */
function createAgentMessage({
  task,
  name,
  parts,
}: {
  task: ExecutionTask;
  name: string;
  parts: Part[];
}): Message {
  const messageId = deriveId([task.id, name]);
  return { messageId, taskId: task.id, contextId: task.a2a?.contextId, role: "ROLE_AGENT", parts };
}

function pickNewest({
  messages,
  count,
}: {
  messages: Message[];
  count: number | undefined;
}): Message[] {
  if (count === undefined) return messages;
  return count === 0 ? [] : messages.slice(-count);
}

function createAnswerArtifact(text: string): A2aArtifact {
  return { artifactId: "answer", parts: [{ text }] };
}

/** In order of creation. The answer's text is the last one. */
function toArtifacts({
  agentArtifacts,
  answer,
}: {
  agentArtifacts: readonly Artifact[];
  answer: string;
}): A2aArtifact[] {
  const agentViews = agentArtifacts.map((artifact, index) => ({
    artifactId: `artifact-${index + 1}`,
    ...(artifact.name && { name: artifact.name }),
    parts: toParts(artifact),
  }));
  return answer === "" ? agentViews : [...agentViews, createAnswerArtifact(answer)];
}

/** One part for each kind of content. An artifact without any of them becomes a data part. */
export function toParts({ name: filename, mimetype: mediaType, ...artifact }: Artifact): Part[] {
  const { text, base64, url, data } = artifact;
  const about = { ...(mediaType && { mediaType }), ...(filename && { filename }) };
  const parts = [
    ...(text === undefined ? [] : [{ text, ...about }]),
    ...(base64 === undefined ? [] : [{ raw: base64, ...about }]),
    ...(url === undefined ? [] : [{ url, ...about }]),
    ...(data === undefined ? [] : [{ data, ...about }]),
  ];
  return parts.length > 0 ? parts : [{ data: artifact, ...about }];
}

/**
 * Turns a task's records into a stream of A2A events: the task itself, then its changes. `firstTask` is the record of the first event, and
 * `task` the newest known one. Ends after a record for which `until` holds (default: the task is over or asks a question), when `signal`
 * aborts, and when the host stops.
 */
export async function* streamTaskEvents(request: {
  tasks: Pick<Tasks, "watch">;
  firstTask: ExecutionTask;
  task: ExecutionTask;
  view: (task: ExecutionTask) => A2aTask;
  until?: ((task: ExecutionTask) => boolean) | undefined;
  signal: AbortSignal;
}): AsyncGenerator<StreamEvent> {
  const { tasks, firstTask, task, view, until, signal } = request;
  let shownTask = firstTask;
  yield { task: view(shownTask) };
  for await (const latestTask of tasks.watch({ task, until, signal })) {
    for (const nextTask of listRecordsBetween({ previousTask: shownTask, nextTask: latestTask })) {
      yield* diffTaskEvents({ previous: view(shownTask), next: view(nextTask) });
      shownTask = nextTask;
    }
  }
}

/**
 * The events by which a client that has seen `previous` learns `next`: changed artifacts, each in full unless its text grew, and then a changed
 * status. The beginning of an answer that does not come, because the agent asks or fails, becomes empty.
 */
export function diffTaskEvents({
  previous,
  next,
}: {
  previous: A2aTask;
  next: A2aTask;
}): StreamEvent[] {
  const { id: taskId, contextId, status, metadata } = next;
  const previousArtifacts = new Map(
    (previous.artifacts ?? []).map((artifact) => [artifact.artifactId, artifact]),
  );
  const nextArtifacts = next.artifacts ?? [];
  const nextIds = nextArtifacts.map(({ artifactId }) => artifactId);
  const isWithdrawn = previousArtifacts.has("answer") && !nextIds.includes("answer");
  const changedArtifacts = nextArtifacts.filter(
    (artifact) => !isSame(artifact, previousArtifacts.get(artifact.artifactId)),
  );
  const isWriting = status.state === "TASK_STATE_WORKING";
  const isStatusSame = isSame([previous.status, previous.metadata], [status, metadata]);
  return [
    ...(isWithdrawn ? [...changedArtifacts, createAnswerArtifact("")] : changedArtifacts).map(
      (artifact) => {
        const growth = findGrowth({
          previous: previousArtifacts.get(artifact.artifactId),
          artifact,
        });
        const lastChunk = !isWriting || artifact.artifactId !== "answer";
        const about = { taskId, contextId, append: growth !== undefined, lastChunk };
        return { artifactUpdate: { ...about, artifact: growth ?? artifact } };
      },
    ),
    ...(isStatusSame
      ? []
      : [{ statusUpdate: { taskId, contextId, status, ...(metadata && { metadata }) } }]),
  ];
}

/** The answer with only what was added to its text. Undefined if it is new or otherwise changed. */
function findGrowth(request: {
  previous: A2aArtifact | undefined;
  artifact: A2aArtifact;
}): A2aArtifact | undefined {
  const { previous, artifact } = request;
  const [earlierText = "", text = ""] = [previous, artifact].map((one) => one?.parts[0]?.text);
  const isGrowth =
    artifact.artifactId === "answer" && earlierText !== "" && text.startsWith(earlierText);
  return isGrowth ? createAnswerArtifact(text.slice(earlierText.length)) : undefined;
}

/** Compares JSON texts, since the members of a view always have the same order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
