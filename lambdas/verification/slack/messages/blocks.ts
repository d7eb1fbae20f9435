/** The few kinds of blocks that messages are made of (https://docs.slack.dev/reference/block-kit/blocks), within their limits. */

import type { Block } from "../api/slack.ts";
import { type Button, encodeButton } from "./buttons.ts";
import { splitAnswer } from "./split.ts";
import { shorten } from "./text.ts";

const maxSectionLength = 2900;
const maxContextLength = 1900;
const maxLabelLength = 75;
export const maxButtons = 25;

/** `text` is Markdown that is safe already, of at most `maxMarkdownLength`. */
export function markdownBlock(text: string): Block {
  return { type: "markdown", text };
}

/** `text` is mrkdwn; what is too long is cut. */
export function section(text: string): Block {
  return { type: "section", text: { type: "mrkdwn", text: cut({ text, maxLength: maxSectionLength }) } };
}

/** The small grey line. `text` is mrkdwn; what is too long is cut. */
export function context(text: string): Block {
  return { type: "context", elements: [{ type: "mrkdwn", text: cut({ text, maxLength: maxContextLength }) }] };
}

export type ButtonLook = Button & { label: string; style?: string | undefined };

/** At most `maxButtons` of them are shown. */
export function buttons(looks: readonly ButtonLook[]): Block {
  return { type: "actions", elements: looks.slice(0, maxButtons).map(element) };
}

/** Slack refuses a style that it does not know. */
function element({ label, style, ...button }: ButtonLook): Record<string, unknown> {
  return {
    type: "button",
    text: { type: "plain_text", text: shorten({ text: label, maxLength: maxLabelLength }), emoji: true },
    ...encodeButton(button),
    ...(style === "primary" || style === "danger" ? { style } : {}),
  };
}

/** The beginning of a text in mrkdwn or Markdown, with an ellipsis where that is not all of it. */
export function cut({ text, maxLength }: { text: string; maxLength: number }): string {
  if (text.length <= maxLength) return text;
  // What is not shown need not be read: a text may be as long as a response.
  const [beginning = ""] = splitAnswer({ text: text.slice(0, maxLength * 2), maxLength: maxLength - 3 });
  return `${beginning}\n…`;
}
