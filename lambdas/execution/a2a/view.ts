/** A task's record as an A2A client sees it: the same on every instance and at every read. */
import { questionKey, taskKey } from "../../../contracts/a2a/extension.ts";
import type { A2aArtifact, Message, Part } from "../../../contracts/a2a/part.ts";
import { type A2aTask, toA2aState } from "../../../contracts/a2a/task.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { Artifact } from "../../../contracts/methods.ts";
import { isAsking, isOver } from "../tasks/changes.ts";
import { createQuestionMessage, deriveId, type ExecutionTask, runDefaults } from "../tasks/execution-task.ts";

/** `historyLength`: so many of the newest messages, all that are kept where it is undefined. */
export function toA2aTask({
  task,
  historyLength,
  pollAfterMs = runDefaults.pollAfterMs,
}: {
  task: ExecutionTask;
  historyLength?: number | undefined;
  pollAfterMs?: number;
}): A2aTask {
  const { id, state, question, a2a, artifacts: made = [], changedAtMs } = task;
  const message = statusMessage(task);
  const notes = createNotes({ task, pollAfterMs });
  const artifacts = toArtifacts({ made, answer: readAnswerText(task) });
  const history = lastOf({ messages: a2a?.messages ?? [], count: historyLength });
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

/** An answer without a task: what it says, and what the agent made besides. Undefined where the task is to be seen. */
export function createDirectMessage(task: ExecutionTask): Message | undefined {
  const { outcome, artifacts = [] } = task;
  if (outcome?.type !== "success" || outcome.direct !== true) return undefined;
  const files = artifacts.flatMap(toParts);
  const text = outcome.text === "" && files.length > 0 ? [] : [{ text: outcome.text }];
  const { taskId: _none, ...message } = createAgentMessage({ task, name: "answer", parts: [...text, ...files] });
  return message;
}

/** The agent's question, its progress or its answer; of what went wrong the fixed words, never more. */
function statusMessage(task: ExecutionTask): Message | undefined {
  const { question, progress, outcome, state } = task;
  if (question !== undefined) return createAskingMessage(task);
  if (!isOver(task)) {
    const { text = "" } = progress ?? {};
    return text === "" ? undefined : createTextMessage({ task, name: `progress ${text}`, text });
  }
  if (outcome?.type === "success") {
    return outcome.text === "" ? undefined : createTextMessage({ task, name: "answer", text: outcome.text });
  }
  const { message: text } = new SekishoError(outcome?.reason ?? "canceled");
  return createTextMessage({ task, name: state, text });
}

function createAskingMessage(task: ExecutionTask): Message | undefined {
  const options = task.question?.options;
  const message = createQuestionMessage(task);
  return message && { ...message, ...(options && { metadata: { [questionKey]: { options } } }) };
}

/** How soon to look again and how far it is; or why it failed, so that who knows Sekisho's reasons reads the very one. */
function createNotes({ task, pollAfterMs }: { task: ExecutionTask; pollAfterMs: number }): Record<string, unknown> {
  const { outcome, progress } = task;
  if (outcome?.type === "failure") return { reason: outcome.reason, ...(outcome.lost && { lost: true }) };
  if (isOver(task) || isAsking(task)) return {};
  const percent = progress?.percent;
  return { poll_after_ms: pollAfterMs, ...(percent !== undefined && { percent }) };
}

function readAnswerText({ outcome }: ExecutionTask): string {
  return outcome?.type === "success" ? outcome.text : "";
}

function createTextMessage({ task, name, text }: { task: ExecutionTask; name: string; text: string }): Message {
  return createAgentMessage({ task, name, parts: [{ text }] });
}

/** A task has at most one message per name. */
function createAgentMessage({ task, name, parts }: { task: ExecutionTask; name: string; parts: Part[] }): Message {
  const messageId = deriveId([task.id, name]);
  return { messageId, taskId: task.id, contextId: task.a2a?.contextId, role: "ROLE_AGENT", parts };
}

function lastOf({ messages, count }: { messages: Message[]; count: number | undefined }): Message[] {
  if (count === undefined) return messages;
  return count === 0 ? [] : messages.slice(-count);
}

/** In the order in which they were made; of the answer's text one more, the last. */
function toArtifacts({ made, answer }: { made: readonly Artifact[]; answer: string }): A2aArtifact[] {
  const own = made.map((artifact, index) => ({
    artifactId: `artifact-${index + 1}`,
    ...(artifact.name && { name: artifact.name }),
    parts: toParts(artifact),
  }));
  return answer === "" ? own : [...own, { artifactId: "answer", parts: [{ text: answer }] }];
}

/** One for each content; what has none of the known ones is data as it stands. */
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
