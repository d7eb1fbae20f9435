/** Reads the words of a message, which Slack has once as text and once as blocks. */

import { type BlockText, joinBlocks, readBlocks } from "./blocks.ts";
import { mrkdwnToMarkdown } from "./mrkdwn.ts";
import { joinParagraphs, type Reading, textOf } from "./values.ts";

/** Slack's own text of a message that has only blocks. */
export const noPreview = "[no preview available]";

/**
 * Returns the words once. People see the blocks of an app's message, whose text may be a summary for notifications. A person's text is
 * what was written, the rich text has the same words with their form, and a pasted table is only in a block.
 */
export function wordsOf(
  { text, blocks }: { text?: unknown; blocks?: unknown },
  { reading, isApp }: { reading: Reading; isApp: boolean },
): string {
  const summaryText = mrkdwnToMarkdown(textOf(text, reading), reading).trim();
  const summary = summaryText === noPreview ? "" : summaryText;
  const parts = readBlocks(blocks, reading);
  const blockText = joinBlocks(parts);
  if (isApp && (summary === "" || blockText === "")) return blockText || summary;
  if (isApp)
    return parts.every(isTable) || blockText.length < summary.length
      ? join(summary, blockText)
      : blockText;
  const richText = joinBlocks(parts.filter(isRichText));
  if (richText !== "" && toLetters(richText) === toLetters(summary)) return blockText;
  return join(summary, joinBlocks(parts.filter((part) => !isRichText(part))));
}

function isTable({ type }: BlockText): boolean {
  return type === "table" || type === "data_table";
}

function isRichText({ type }: BlockText): boolean {
  return type === "rich_text";
}

/** Keeps one of them if it has all words of the other. */
function join(summary: string, shownText: string): string {
  const [summaryLetters, shownLetters] = [toLetters(summary), toLetters(shownText)];
  if (summaryLetters.includes(shownLetters)) return summary;
  return shownLetters.includes(summaryLetters) ? shownText : joinParagraphs([summary, shownText]);
}

/** The same words may have other marks. */
function toLetters(text: string): string {
  return text.replace(/:[a-z0-9_+-]{1,60}:/g, "").replace(/[^\p{L}\p{N}]/gu, "");
}
