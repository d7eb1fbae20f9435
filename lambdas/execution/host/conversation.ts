/** What was said in a task that came over A2A, as far as its record keeps it; pure. */
import type { Message } from "../../../contracts/a2a/part.ts";
import type { Answer, ExecutionTask } from "./execution-task.ts";

/** Beside what the task works on and what it made, a record has room for no more. */
const maxMessagesBytes = 32 * 1024;

/** The newest messages that fit, one that is too large by itself without what is in it. A task of the zone contract keeps none. */
export function withMessages({ task, messages }: { task: ExecutionTask; messages: readonly Message[] }): ExecutionTask {
  if (task.a2a === undefined || messages.length === 0) return task;
  const kept: Message[] = [];
  let bytes = 0;
  for (const said of [...task.a2a.messages, ...messages].reverse()) {
    const ownBytes = jsonBytes(said);
    const message = ownBytes > maxMessagesBytes ? emptied(said) : said;
    bytes += message === said ? ownBytes : jsonBytes(message);
    if (bytes > maxMessagesBytes) break;
    kept.unshift(message);
  }
  return { ...task, a2a: { ...task.a2a, messages: kept } };
}

/** The question that a task waits with, as the agent's message. */
export function questionMessage({ id, a2a, question }: ExecutionTask): Message | undefined {
  if (question === undefined) return undefined;
  const { messageId, prompt } = question;
  return { messageId, taskId: id, contextId: a2a?.contextId, role: "ROLE_AGENT", parts: [{ text: prompt }] };
}

/** An answer that did not come over A2A, as the message that it would have been. */
export function answerMessage({ task: { id, a2a }, answer }: { task: ExecutionTask; answer: Answer }): Message {
  const { id: messageId, text, option_id = "", parts = [{ text: text || option_id }] } = answer;
  return { messageId, taskId: id, contextId: a2a?.contextId, role: "ROLE_USER", parts };
}

/** Its ids are what a client knows it by. */
function emptied({ messageId, taskId, contextId, role }: Message): Message {
  return { messageId, taskId, contextId, role, parts: [{ text: "" }] };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
