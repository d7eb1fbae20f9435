/** Reads the words of a message, which Slack has once as text and once as blocks. */

import { blocksToMarkdown } from "./blocks.ts";
import { mrkdwnToMarkdown } from "./mrkdwn.ts";
import { fieldsOf, joinParagraphs, type Reading, textOf } from "./values.ts";

/** Slack's own text of a message that has only blocks. */
const noPreview = "[no preview available]";

/**
 * Returns the words once. Slack shows the blocks, and the text in notifications. A person's text has the same words as its rich text,
 * and an app's text may be a summary. Only a table is never in the text.
 */
export function wordsOf({ text, blocks }: { text?: unknown; blocks?: unknown }, reading: Reading): string {
  const written = mrkdwnToMarkdown(textOf(text, reading), reading).trim();
  const summary = written === noPreview ? "" : written;
  const shown = blocksToMarkdown(blocks, reading).trim();
  if (summary === "" || shown === "") return shown || summary;
  const types = Array.isArray(blocks) ? blocks.map((block) => fieldsOf(block).type) : [];
  if (types.includes("rich_text")) return shown;
  const [summaryLetters, shownLetters] = [toLetters(summary), toLetters(shown)];
  if (shownLetters.includes(summaryLetters)) return shown;
  if (summaryLetters.includes(shownLetters)) return summary;
  const isOnlyTables = types.every((type) => type === "table" || type === "data_table");
  return shown.length > summary.length && !isOnlyTables ? shown : joinParagraphs([summary, shown]);
}

/** The same words may have other marks. */
function toLetters(text: string): string {
  return text.replace(/:[a-z0-9_+-]{1,60}:/g, "").replace(/[^\p{L}\p{N}]/gu, "");
}
