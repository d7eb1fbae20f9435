/** When an answer is so long that it becomes a file. Pure. */
import { fencedTables } from "./fenced-tables.ts";
import { safeMarkdown, safePart } from "./safe-markdown.ts";
import { maxMarkdownLength, splitAnswer } from "./split-answer.ts";

/** More messages than this nobody reads. */
const mostParts = 5;
export const longAnswerName = "answer.md";

/**
 * Depends on the agent's text alone, so that the answer's files are the same at every try, also where Slack does not take its
 * blocks and the parts are other ones.
 */
export function isLongAnswer(text: string): boolean {
  if (text.length <= maxMarkdownLength) return false;
  return text.length > mostParts * maxMarkdownLength || markdownParts(text).length > mostParts;
}

/** The agent's Markdown in parts, safe to show, each for one markdown block. */
export function markdownParts(text: string): string[] {
  return safeParts({ text, maxLength: maxMarkdownLength });
}

/** In Markdown, each of at most `maxLength`. */
export function safeParts({ text, maxLength }: { text: string; maxLength: number }): string[] {
  const parts = splitAnswer({ text: fencedTables(safeMarkdown(text)), maxLength });
  return parts.map((part) => safePart({ part, maxLength }));
}
