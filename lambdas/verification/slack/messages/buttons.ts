/** Encodes what a button of Sekisho means in its `action_id` and `value`, and reads it back when it is clicked. Small, for the ingress. */
import type { Vote } from "@sekisho/contracts/methods.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";

export type Button = {
  requestId: string;
  /** `question` and `option` count from 0. */
  button:
    | { type: "cancel" }
    | { type: "answer"; question: number; option: number }
    | { type: "open_form"; question: number }
    | { type: "feedback"; vote: Vote }
    | { type: "retry" };
};

const cancelAction = "sekisho_cancel";
const answerAction = "sekisho_answer_";
const formAction = "sekisho_form";
const feedbackAction = "sekisho_feedback";
const retryAction = "sekisho_retry";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const maxValueLength = 200;

/** Returns undefined for a button that is not ours: the value must be exactly what `encodeButton` writes. */
export function decodeButton({
  action_id,
  value,
}: {
  action_id: string;
  value: string;
}): Button | undefined {
  if (value.length > maxValueLength) return undefined;
  const fields = Object(parseJson(value)) as { r?: unknown; q?: unknown; o?: unknown; v?: unknown };
  const { r: requestId } = fields;
  if (typeof requestId !== "string" || !uuid.test(requestId)) return undefined;
  const button = readButton(action_id, fields);
  if (button === undefined) return undefined;
  const encodedButton = encodeButton({ requestId, button });
  return encodedButton.action_id === action_id && encodedButton.value === value
    ? { requestId, button }
    : undefined;
}

function readButton(
  action: string,
  { q: question, o: option, v: vote }: { q?: unknown; o?: unknown; v?: unknown },
): Button["button"] | undefined {
  if (action === cancelAction) return { type: "cancel" };
  if (action === retryAction) return { type: "retry" };
  if (action === feedbackAction)
    return vote === "up" || vote === "down" ? { type: "feedback", vote } : undefined;
  if (!isCount(question)) return undefined;
  if (action === formAction) return { type: "open_form", question };
  return isCount(option) ? { type: "answer", question, option } : undefined;
}

/**
 * The `action_id` of an answer includes the option, because it must be unique within a message. Both votes share one, because they are one
 * element of Slack's.
 */
export function encodeButton({ requestId, button }: Button): { action_id: string; value: string } {
  switch (button.type) {
    case "cancel":
      return { action_id: cancelAction, value: JSON.stringify({ r: requestId }) };
    case "retry":
      return { action_id: retryAction, value: JSON.stringify({ r: requestId }) };
    case "feedback":
      return { action_id: feedbackAction, value: JSON.stringify({ r: requestId, v: button.vote }) };
    case "open_form":
      return { action_id: formAction, value: JSON.stringify({ r: requestId, q: button.question }) };
    case "answer": {
      const { question, option } = button;
      return {
        action_id: `${answerAction}${option}`,
        value: JSON.stringify({ r: requestId, q: question, o: option }),
      };
    }
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
