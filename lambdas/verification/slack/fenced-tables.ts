/** Tables that Slack would not draw, as code fences: a message takes one table. Pure. */
import type { Token, Tokens } from "marked";
import { parseMarkdown } from "./markdown.ts";
import { tableLines } from "./markdown-table.ts";
import { blockText, jointBefore, scanBlocks, type TextBlock } from "./scan-blocks.ts";
import { maxMarkdownLength } from "./split-answer.ts";

/** Of a table block (https://docs.slack.dev/reference/block-kit/blocks/table-block), which Slack makes of a table in Markdown. */
const maxRows = 100;
const maxColumns = 20;
/** All cells of a table may hold 10,000; hyphens and bars come beside them. */
const maxTableLength = 9_500;

/**
 * A table stays one where Slack can draw it and no other table can come into the same message; the others are told in fences,
 * with equal columns. `markdown` is safe already, and longer by what fills the columns afterwards.
 */
export function fencedTables(markdown: string): string {
  const blocks = scanBlocks(markdown);
  if (!blocks.some(({ kind }) => kind === "table")) return markdown;
  let text = "";
  let lastTableEnd = Number.NEGATIVE_INFINITY;
  for (const block of blocks) {
    text += jointBefore({ block, isFirst: text === "" });
    const isAlone = text.length - lastTableEnd >= maxMarkdownLength;
    const isDrawn = block.kind === "table" && isAlone && fits(block);
    text += block.kind === "table" && !isDrawn ? fenced(block) : blockText(block);
    if (isDrawn) lastTableEnd = text.length;
  }
  return text;
}

function fits(block: TextBlock): boolean {
  const columns = (block.head[1] ?? "").split("|").filter((cell) => cell.includes("-")).length;
  return columns <= maxColumns && block.body.length < maxRows && blockText(block).length <= maxTableLength;
}

/** What looks like a table and is none stays as it is. */
function fenced(block: TextBlock): string {
  const text = blockText(block);
  const [token, ...others] = parseMarkdown(text);
  if (others.length > 0 || !isTable(token)) return text;
  return ["```", ...tableLines(token), "```"].join("\n");
}

function isTable(token: Token | undefined): token is Tokens.Table {
  return token?.type === "table";
}
