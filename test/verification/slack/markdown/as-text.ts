/** The functions that make Markdown safe, for tests that compare texts. The product passes the trees on. */
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { toMrkdwn } from "@sekisho/verification/slack/markdown/mrkdwn.ts";
import { newestPart } from "@sekisho/verification/slack/markdown/newest.ts";
import { safeMarkdown } from "@sekisho/verification/slack/markdown/safe-markdown.ts";
import { splitBlocks } from "@sekisho/verification/slack/markdown/split.ts";
import { drawTables } from "@sekisho/verification/slack/markdown/tables.ts";
import { joinBlocks, sourceBlocks } from "@sekisho/verification/slack/markdown/text-blocks.ts";

export function safeText(text: string): string {
  return safeMarkdown(text).text;
}

export function mrkdwnText(markdown: string): string {
  return toMrkdwn(parseMarkdown(markdown));
}

/** The text with the tables drawn that Slack does not draw. */
export function drawnText(markdown: string): string {
  return joinBlocks(drawTables(sourceBlocks(parseMarkdown(markdown))));
}

type Request = { text: string; maxLength: number };

export function splitText({ text, maxLength }: Request): string[] {
  const blocks = sourceBlocks(parseMarkdown(text));
  return [...splitBlocks({ blocks, maxLength })].map((part) => part.text);
}

/** The same with the tables drawn. */
export function splitDrawnText({ text, maxLength }: Request): string[] {
  const blocks = drawTables(sourceBlocks(parseMarkdown(text)));
  return [...splitBlocks({ blocks, maxLength })].map((part) => part.text);
}

export function newestText({ text, maxLength }: Request): string {
  const blocks = sourceBlocks(parseMarkdown(text));
  return newestPart({ blocks, maxLength, isCut: false }).text;
}
