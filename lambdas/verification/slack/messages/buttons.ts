/** The buttons of our messages as they travel through Slack: written into a block, and read again when one is pressed. Imports nothing: the ingress reads them. */

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
  const pressed: Button | undefined =
    action_id === cancelAction
      ? { requestId, button: { type: "cancel" } }
      : isCount(question) && isCount(option)
        ? { requestId, button: { type: "answer", question, option } }
        : undefined;
  if (pressed === undefined) return undefined;
  const expected = encodeButton(pressed);
  return expected.action_id === action_id && expected.value === value ? pressed : undefined;
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
