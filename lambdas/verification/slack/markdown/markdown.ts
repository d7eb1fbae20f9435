/**
 * Parses an agent's Markdown. Everything that reads Markdown uses this parser. Its work is bounded and linear in the text's length. No
 * result is cached: a text is passed on together with its tree.
 */
import { readBlocks, readOpenFence } from "./blocks.ts";
import { wordJoiner } from "./characters.ts";
import { createInlineReader } from "./inlines.ts";
import {
  type Cell,
  createWork,
  type Inline,
  type Item,
  type Leaf,
  type ListItem,
  type MarkdownBlock,
  type RawBlock,
  TooMuchWork,
  type Work,
  walkBlocks,
} from "./nodes.ts";

/** A text and the tree of it. */
export type Markdown = {
  text: string;
  blocks: readonly MarkdownBlock[];
  /** The ends of the labels of link definitions. */
  definitionEnds: readonly number[];
  /** True if part of the text was not read, so that it may have links that are not in `blocks`. */
  isPartial: boolean;
  /** About the number of characters that were read. */
  steps: number;
};

/** Reads CommonMark with GitHub's tables, strikethrough, tasks and bare addresses. Lines must end with "\n". */
export function parseMarkdown(text: string): Markdown {
  return readMarkdown({ text, work: createWork(text.length) });
}

/** Parses a text that was made from the one of `markdown`, unless it is still the same. */
export function reparse(markdown: Markdown, text: string): Markdown {
  return text === markdown.text ? markdown : parseMarkdown(text);
}

/** Removes white space at the end. The tree stays, unless the white space is part of code or means something to Markdown. */
export function trimMarkdown(markdown: Markdown): Markdown {
  const text = markdown.text.trimEnd();
  if (text.length === markdown.text.length) return markdown;
  const last = walkBlocks(markdown.blocks).at(-1);
  const isInCode = last?.type === "code" && last.place.end > text.length;
  const isBlank = /^[ \t\n]*$/.test(markdown.text.slice(text.length));
  return isBlank && !isInCode ? { ...markdown, text } : parseMarkdown(text);
}

/** If the limit of `work` is exceeded, the result is the whole text as one unread block. */
export function readMarkdown({ text, work }: { text: string; work: Work }): Markdown {
  try {
    const { blocks, references, definitionEnds } = readBlocks({ text, work });
    const addresses = createAddresses(text);
    const read = createInlineReader({ references, work, takeAddress: addresses.take });
    const inlined = blocks.map((block) => withInlines(block, read));
    return {
      text,
      blocks: inlined,
      definitionEnds,
      isPartial: addresses.isExhausted(),
      steps: work.steps(),
    };
  } catch (thrown) {
    if (!(thrown instanceof TooMuchWork)) throw thrown;
    const blocks: MarkdownBlock[] = [{ type: "as_written", isApart: false, at: 0, text }];
    return { text, blocks, definitionEnds: [], isPartial: true, steps: work.steps() };
  }
}

/** If the text ends within a fence, returns the line that opens it, with a line end. Otherwise returns "". */
export function openFence(text: string): string {
  try {
    return readOpenFence({ text, work: createWork(text.length) });
  } catch (thrown) {
    if (!(thrown instanceof TooMuchWork)) throw thrown;
    return "";
  }
}

type Read = (leaf: Leaf) => Inline[];

function withInlines(block: RawBlock, read: Read): MarkdownBlock {
  const { isApart, at } = block;
  const cellOf = (leaf: Leaf): Cell => ({ children: readCell(leaf, read) });
  switch (block.type) {
    case "paragraph":
    case "heading":
      return { type: block.type, isApart, at, children: read(block.leaf) };
    case "table":
      return {
        ...block,
        header: block.header.map(cellOf),
        rows: block.rows.map((row) => row.map(cellOf)),
      };
    case "quote":
      return {
        type: "quote",
        isApart,
        at,
        blocks: block.blocks.map((inner) => withInlines(inner, read)),
      };
    case "list":
      return { ...block, items: block.items.map((item) => createItem(item, read)) };
    default:
      return block;
  }
}

const task = /^\[([ xX])\][ \t]+(?=\S)/;

function createItem({ at, blocks }: Item, read: Read): ListItem {
  const [first, ...others] = blocks;
  const taskMark = first?.type === "paragraph" ? task.exec(first.leaf.content) : null;
  if (first?.type !== "paragraph" || taskMark === null)
    return { at, blocks: blocks.map((block) => withInlines(block, read)) };
  const [mark, sign] = taskMark;
  const leaf = {
    content: first.leaf.content.slice(mark.length),
    lines: first.leaf.lines.map((line) => ({ ...line, at: line.at - mark.length })),
  };
  return {
    isChecked: sign !== " ",
    at,
    blocks: [{ ...first, leaf }, ...others].map((block) => withInlines(block, read)),
  };
}

/** In a table cell, `\|` means `|` even within code. */
function readCell(leaf: Leaf, read: Read): Inline[] {
  const children = read(leaf);
  if (!leaf.content.includes("\\|")) return children;
  return children.map((child) =>
    child.type === "codespan" ? { ...child, text: child.text.replaceAll("\\|", "|") } : child,
  );
}

/** Bounds the output: many short references to one long address would repeat it each time. */
function createAddresses(text: string) {
  let left = text.length + 10_000;
  let isExhausted = false;
  return {
    take(length: number): boolean {
      isExhausted ||= length > left;
      if (length > left) return false;
      left -= length;
      return true;
    },
    isExhausted: () => isExhausted,
  };
}

const maxMarks = 12;
const maxColumns = 60;

const marks = new RegExp(`^(?:[ \\t]*(?:>|(?:[-+*]|\\d{1,9}[.)])[ \\t])){${maxMarks + 1}}`);
const farItem = new RegExp(`^[ \\t>]{${maxColumns},}(?:[-+*>]|\\d{1,9}[.)])`);
const rule = /^[ \t]*(?:(?:-[ \t]*)+|(?:\*[ \t]*)+)$/;

/**
 * Turns lines in very deep lists and quotes into text of the paragraph before them. Nobody can read such levels, and they slow down
 * other parsers.
 */
export function limitDepth(text: string): string {
  return text
    .split("\n")
    .map((line) => (isDeepLine(line) ? wordJoiner + line : line))
    .join("\n");
}

function isDeepLine(line: string): boolean {
  return (marks.test(line) || farItem.test(line)) && !rule.test(line);
}
