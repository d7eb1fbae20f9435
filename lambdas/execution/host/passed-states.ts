/** The states that a task has left: who follows it by its records may see two states at once, and is to hear of each; pure. */
import { textOf } from "../../../contracts/a2a/part.ts";
import type { ExecutionTask, PassedState } from "./execution-task.ts";

/** Of a task that is followed no more than a second behind, more do not pass unseen. */
const maxPassed = 10;

/** The record with the state that it is about to leave among those that it has left. Only tasks of A2A are followed so. */
export function leaving({ from, task }: { from: ExecutionTask; task: ExecutionTask }): ExecutionTask {
  if (task.a2a === undefined) return task;
  const { state, changedAtMs: atMs, question } = from;
  const left: PassedState = {
    state,
    atMs,
    ...(question && { messageId: question.messageId }),
    ...(question?.kind && { kind: question.kind }),
  };
  return { ...task, a2a: { ...task.a2a, passed: [...(task.a2a.passed ?? []), left].slice(-maxPassed) } };
}

/** The states between two records as records of their own, and then the later record itself. */
export function recordsBetween({ previous, next }: { previous: ExecutionTask; next: ExecutionTask }): ExecutionTask[] {
  const passed = next.a2a?.passed ?? [];
  const place = passed.findIndex(({ state, atMs }) => state === previous.state && atMs === previous.changedAtMs);
  const unseen = place < 0 ? passed.filter(({ atMs }) => atMs > previous.changedAtMs) : passed.slice(place + 1);
  return [...unseen.map((state) => asItWas({ record: next, passed: state })), next];
}

function asItWas({
  record: { outcome: _outcome, progress: _progress, question: _question, ...record },
  passed: { state, atMs, messageId, kind },
}: {
  record: ExecutionTask;
  passed: PassedState;
}): ExecutionTask {
  const was = { ...record, state, changedAtMs: atMs };
  if (messageId === undefined) return was;
  const asked = record.a2a?.messages.find((message) => message.messageId === messageId);
  return { ...was, question: { prompt: textOf(asked?.parts ?? []), messageId, ...(kind && { kind }) } };
}
