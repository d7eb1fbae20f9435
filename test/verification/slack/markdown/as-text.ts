/** The functions that make Markdown safe, for tests that compare texts. The product passes the trees on. */
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { toMrkdwn } from "@sekisho/verification/slack/markdown/mrkdwn.ts";
import { safeMarkdown } from "@sekisho/verification/slack/markdown/safe-markdown.ts";

export function safeText(text: string): string {
  return safeMarkdown(text).text;
}

export function mrkdwnText(markdown: string): string {
  return toMrkdwn(parseMarkdown(markdown));
}
