/** A person's click on a button of the sample's task. */
import type { ButtonClick } from "@sekisho/verification/task/messages.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";

export function sampleClick(
  button: ButtonClick["button"],
  changes: Partial<ButtonClick> = {},
): ButtonClick {
  const { requestId, message } = sampleAsk();
  const { team, channel, user, ts: threadTs } = message;
  const place = { requestId, team, channel, threadTs, user };
  return { type: "button_click", ...place, atMs: askedAtMs + 60_000, button, ...changes };
}
