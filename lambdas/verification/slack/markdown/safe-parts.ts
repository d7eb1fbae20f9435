/** Splits safe Markdown into safe parts. A part that shows whole nodes of the tree is not parsed again. */
import { type Markdown, parseMarkdown, trimMarkdown } from "./markdown.ts";
import { walkBlocks } from "./nodes.ts";
import { safeMarkdown } from "./safe-markdown.ts";
import { splitBlocks } from "./split.ts";
import { drawTables } from "./tables.ts";
import { type Part, sourceBlocks } from "./text-blocks.ts";
import { removeComments } from "./visible-text.ts";

type Request = { markdown: Markdown; maxLength: number };

/** Returns parts of at most `maxLength`, with their tables as Slack shows them. `markdown` must be safe. */
export function* splitMarkdown({ markdown, maxLength }: Request): Generator<Markdown> {
  const isLong = markdown.text.length > maxLength;
  const whole = isLong ? withoutComments(markdown) : markdown;
  const trimmed = trimMarkdown(whole);
  if (trimmed.text.length <= maxLength && !hasTable(whole)) yield trimmed;
  else {
    const blocks = drawTables(sourceBlocks(whole));
    for (const part of splitBlocks({ blocks, maxLength }))
      yield safePart({ whole, part, maxLength });
  }
}

/**
 * Makes a part of the safe text `whole` safe again, because code in the whole text may not be code in the part. Whole nodes are safe
 * already, unless a definition of the part could take the place of one elsewhere. The result has at most `maxLength`.
 */
export function safePart(request: { whole: Markdown; part: Part; maxLength: number }): Markdown {
  const { whole, part, maxLength } = request;
  const { text, nodes } = part;
  if (nodes !== undefined && whole.definitionEnds.length === 0)
    return { ...whole, text, blocks: nodes };
  const safe = safeMarkdown(text);
  return safe.text.length <= maxLength ? safe : parseMarkdown(text.replaceAll("[", "［"));
}

function hasTable({ blocks }: Markdown): boolean {
  return walkBlocks(blocks).some(({ type }) => type === "table");
}

/** A cut comment would become visible. Text on both sides of a removed one could form notation. */
function withoutComments(markdown: Markdown): Markdown {
  const text = removeComments(markdown);
  return text === markdown.text ? markdown : safeMarkdown(text);
}
