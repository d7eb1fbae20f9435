/**
 * The marks by which Sekisho knows its own messages again: the value of a pressed button, and the number of a post's part. Imports
 * nothing, since the ingress reads buttons.
 */

export type Button = {
  requestId: string;
  /** `question` and `option` count from 0. */
  button: { type: "cancel" } | { type: "answer"; question: number; option: number };
};

const cancelAction = "sekisho_cancel";
const answerAction = "sekisho_answer_";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const maxValueLength = 200;

/** What a pressed button says, or nothing where it is none of ours: a value is exactly what `encodeButton` writes. */
export function decodeButton({ action_id, value }: { action_id: string; value: string }): Button | undefined {
  const fields = parse(value);
  if (fields === undefined) return undefined;
  const { r: requestId, q: question, o: option } = fields;
  if (typeof requestId !== "string" || !uuid.test(requestId)) return undefined;
  const button: Button | undefined =
    action_id === cancelAction
      ? { requestId, button: { type: "cancel" } }
      : isCount(question) && isCount(option)
        ? { requestId, button: { type: "answer", question, option } }
        : undefined;
  if (button === undefined) return undefined;
  const expected = encodeButton(button);
  return expected.action_id === action_id && expected.value === value ? button : undefined;
}

/** Within one message every `action_id` is another. */
export function encodeButton({ requestId, button }: Button): { action_id: string; value: string } {
  if (button.type === "cancel") return { action_id: cancelAction, value: JSON.stringify({ r: requestId }) };
  const { question, option } = button;
  return { action_id: `${answerAction}${option}`, value: JSON.stringify({ r: requestId, q: question, o: option }) };
}

function parse(value: string): { r?: unknown; q?: unknown; o?: unknown } | undefined {
  if (value.length > maxValueLength) return undefined;
  try {
    const fields: unknown = JSON.parse(value);
    return typeof fields === "object" && fields !== null ? fields : undefined;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export const placeholderPart = 0;
/** The first part of an agent's answer; the others follow. */
export const answerPart = 1;
/** The first part of an answer in mrkdwn alone, which stands where Slack did not take its blocks. */
export const plainPart = 501;
/** The first part of the words that stand where Slack did not take the answer. */
export const insteadPart = 1001;
/** The first question of the agent; further ones follow. */
export const questionPart = 2001;
/** What opens a thread for a slash command. */
export const openingPart = 3001;
/** The message with the answer's files: Slack posts it, and it is known by the files. */
export const filesPart = 4001;
/** A message that was to go and cannot be deleted. */
export const replacedPart = 6001;
/** A native stream that was not made the answer yet: Slack gives it no key, and it is known by its `ts`. */
export const streamPart = 5001;
