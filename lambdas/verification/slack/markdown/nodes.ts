/** The tree of a Markdown text, the raw blocks that it is made from, and the limit on the work of reading it. */
import type { Align, Fence, HtmlStart } from "./lines.ts";

/** Offsets in the whole text. The texts in the tree still have their entities. */
export type TextRange = { start: number; end: number };
/** Offsets of a link in the whole text: the opening bracket, the `]` behind the label, and the end of the link. */
export type LinkRange = { start: number; labelEnd: number; end: number };

export type Link = {
  type: "link" | "image";
  /** `auto` is a bare address, or one in angle brackets. */
  form: "inline" | "reference" | "auto";
  label: string;
  href: string;
  children: readonly Inline[];
  place: LinkRange;
};

export type Inline =
  | { type: "text"; text: string }
  | { type: "codespan"; text: string; place: TextRange }
  | { type: "html"; text: string; place: TextRange }
  | { type: "br" }
  | { type: "strong" | "em" | "del"; children: readonly Inline[] }
  | Link;

export type Cell = { children: readonly Inline[] };
export type Table = {
  type: "table";
  header: readonly Cell[];
  align: readonly Align[];
  /** A row may have fewer cells than the header, or more. */
  rows: readonly (readonly Cell[])[];
};
/** `isChecked` is set for tasks only. `at` is the offset of the item's mark. */
export type ListItem = {
  isChecked?: boolean;
  at: number;
  blocks: readonly MarkdownBlock[];
};
export type List = { type: "list"; isOrdered: boolean; start: number; items: readonly ListItem[] };

/** `marks` begin and end the code. Code that is indented has no fence. */
export type Code = {
  type: "code";
  text: string;
  lang: string;
  place: TextRange;
  fence?: { marks: string; isClosed: boolean };
};

/**
 * `isApart` is true if an empty line precedes the block. `at` is the offset of its first character behind the marks of enclosing quotes
 * and lists. The block extends to the line in which the next one begins.
 */
export type BlockStart = { isApart: boolean; at: number };

export type MarkdownBlock = BlockStart &
  (
    | { type: "paragraph"; children: readonly Inline[] }
    | { type: "heading"; children: readonly Inline[] }
    | Code
    | { type: "html"; text: string; place: TextRange }
    | { type: "hr" }
    /** Definitions of links, or unusual blanks. They show nothing. */
    | { type: "definitions" }
    | { type: "quote"; blocks: readonly MarkdownBlock[] }
    | List
    | Table
    /** Text that would have taken too much work to read. */
    | { type: "as_written"; text: string }
  );

/** Returns all blocks in text order, each before the blocks within it. */
export function walkBlocks(blocks: readonly MarkdownBlock[]): readonly MarkdownBlock[] {
  if (!blocks.some(holdsBlocks)) return blocks;
  const flat: MarkdownBlock[] = [];
  addBlocks(blocks, flat);
  return flat;
}

function holdsBlocks({ type }: MarkdownBlock): boolean {
  return type === "quote" || type === "list";
}

/** The recursion is safe, because the parser bounds the nesting of blocks. */
function addBlocks(blocks: readonly MarkdownBlock[], flat: MarkdownBlock[]): void {
  for (const block of blocks) {
    flat.push(block);
    if (block.type === "quote") addBlocks(block.blocks, flat);
    else if (block.type === "list") for (const item of block.items) addBlocks(item.blocks, flat);
  }
}

/** Returns the inline nodes directly within a block. */
export function listInlines(block: MarkdownBlock): readonly Inline[] {
  return inlineGroups(block).flat();
}

/** Returns the same nodes, with one group per table cell. */
export function inlineGroups(block: MarkdownBlock): readonly (readonly Inline[])[] {
  if (block.type === "paragraph" || block.type === "heading") return [block.children];
  return block.type === "table"
    ? [block.header, ...block.rows].flat().map(({ children }) => children)
    : [];
}

/** Returns all inline nodes in text order, each before the nodes within it. */
export function walkInlines(inlines: readonly Inline[]): readonly Inline[] {
  if (!inlines.some((inline) => "children" in inline)) return inlines;
  const flat: Inline[] = [];
  addInlines(inlines, flat);
  return flat;
}

/** The recursion is safe, because the parser bounds the nesting of emphasis and links. */
function addInlines(inlines: readonly Inline[], flat: Inline[]): void {
  for (const inline of inlines) {
    flat.push(inline);
    if ("children" in inline) addInlines(inline.children, flat);
  }
}

/** Blocks with leaves in place of inline nodes, because inline text is read only after all link definitions are known. */
export type RawBlock = BlockStart &
  (
    | { type: "paragraph" | "heading"; leaf: Leaf }
    | {
        type: "table";
        header: readonly Leaf[];
        align: readonly Align[];
        rows: readonly (readonly Leaf[])[];
      }
    | { type: "quote"; blocks: RawBlock[] }
    | {
        type: "list";
        kind: string;
        isOrdered: boolean;
        start: number;
        items: Item[];
      }
    | Extract<MarkdownBlock, { type: "code" | "html" | "hr" | "definitions" }>
  );

export type Container = { type: "root" | "quote"; blocks: RawBlock[] } | Item;
export type Item = {
  type: "item";
  at: number;
  blocks: RawBlock[];
  contentIndent: number;
};

export type Paragraph = BlockStart & {
  type: "paragraph";
  texts: string[];
  lines: { at: number; source: number }[];
  length: number;
};
export type OpenLeaf =
  | Paragraph
  | (BlockStart &
      (
        | { type: "fence"; fence: Fence; indent: number; texts: string[]; place: TextRange }
        | { type: "indented"; texts: string[]; place: TextRange }
        | { type: "html"; html: HtmlStart; texts: string[]; place: TextRange }
        | { type: "table"; header: Leaf[]; align: Align[]; rows: Leaf[][] }
      ));

/** A block's text without the marks of enclosing quotes and lists. For each line, `content[at]` is at `source` in the whole text. */
export type Leaf = { content: string; lines: readonly { at: number; source: number }[] };

/** Ordinary Markdown takes about five steps per character. */
const maxStepsPerCharacter = 100;
const maxStepsOfAnyText = 10_000;

export class TooMuchWork extends Error {}

/** Counts the work of reading a text. Unlike a time-out, the limit does not depend on the load of the machine. */
export type Work = {
  /** Throws `TooMuchWork` above the limit. One step is about one character read. */
  spend(steps: number): void;
  steps(): number;
};

export function createWork(length: number): Work {
  const limit = maxStepsOfAnyText + length * maxStepsPerCharacter;
  let total = 0;
  return {
    spend(steps) {
      total += steps;
      if (total > limit) throw new TooMuchWork();
    },
    steps: () => total,
  };
}

/** Converts an offset in a leaf's content to an offset in the whole text. */
export function findSource(lines: Leaf["lines"], at: number): number {
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lines[middle]?.at ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  const line = lines[low] ?? { at: 0, source: 0 };
  return line.source + at - line.at;
}

export function createLeaf(content: string, source: number): Leaf {
  return { content, lines: [{ at: 0, source }] };
}

export function trimLeaf({ content, lines }: Leaf): Leaf {
  const before = content.length - content.trimStart().length;
  return {
    content: content.trim(),
    lines: lines.map(({ at, source }) => ({ at: at - before, source })),
  };
}
