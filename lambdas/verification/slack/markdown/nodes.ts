/** The tree of a Markdown text, the blocks and lines that it is made from, and the bound on the work of reading it. */
import type { Align, Fence, HtmlStart } from "./lines.ts";

/** Offsets in the whole text. Texts in the tree are as written: entities are not decoded. */
export type TextRange = { start: number; end: number };
/** Offsets of a link in the whole text: its opening bracket, the `]` behind its label, and the end of the link. */
export type LinkRange = { start: number; labelEnd: number; end: number };

export type Link = {
  type: "link" | "image";
  /** `auto`: the address stands there by itself, or in angle brackets. */
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
/** `isChecked` is there where it is a task. */
export type ListItem = { isChecked?: boolean; blocks: readonly MarkdownBlock[] };
export type List = { type: "list"; isOrdered: boolean; start: number; items: readonly ListItem[] };

/** `isApart`: an empty line stands before it. */
export type MarkdownBlock = { isApart: boolean } & (
  | { type: "paragraph"; children: readonly Inline[] }
  | { type: "heading"; children: readonly Inline[] }
  | { type: "code"; text: string; lang: string; place: TextRange }
  | { type: "html"; text: string; place: TextRange }
  | { type: "hr" }
  | { type: "quote"; blocks: readonly MarkdownBlock[] }
  | List
  | Table
  /** Text that was not read, because it would be too much work. */
  | { type: "as_written"; text: string }
);

/** Several functions go through the same tree one after the other. */
const flatBlocks = new WeakMap<readonly MarkdownBlock[], readonly MarkdownBlock[]>();

/** All blocks, in the order of the text; what is within a block comes after it. */
export function walkBlocks(blocks: readonly MarkdownBlock[]): readonly MarkdownBlock[] {
  if (!blocks.some(holdsBlocks)) return blocks;
  const known = flatBlocks.get(blocks);
  if (known !== undefined) return known;
  const flat: MarkdownBlock[] = [];
  addBlocks(blocks, flat);
  flatBlocks.set(blocks, flat);
  return flat;
}

function holdsBlocks({ type }: MarkdownBlock): boolean {
  return type === "quote" || type === "list";
}

/** The parser bounds how deep blocks nest. */
function addBlocks(blocks: readonly MarkdownBlock[], flat: MarkdownBlock[]): void {
  for (const block of blocks) {
    flat.push(block);
    if (block.type === "quote") addBlocks(block.blocks, flat);
    else if (block.type === "list") for (const item of block.items) addBlocks(item.blocks, flat);
  }
}

/** The inline nodes right within a block. */
export function listInlines(block: MarkdownBlock): readonly Inline[] {
  return inlineGroups(block).flat();
}

/** The same, and what stands in a cell of its own is a group of its own. */
export function inlineGroups(block: MarkdownBlock): readonly (readonly Inline[])[] {
  if (block.type === "paragraph" || block.type === "heading") return [block.children];
  return block.type === "table" ? [block.header, ...block.rows].flat().map(({ children }) => children) : [];
}

/** All inline nodes, in the order of the text; what is within a node comes after it. */
export function walkInlines(inlines: readonly Inline[]): readonly Inline[] {
  if (!inlines.some((inline) => "children" in inline)) return inlines;
  const flat: Inline[] = [];
  addInlines(inlines, flat);
  return flat;
}

/** The parser bounds how deep emphasis and links nest. */
function addInlines(inlines: readonly Inline[], flat: Inline[]): void {
  for (const inline of inlines) {
    flat.push(inline);
    if ("children" in inline) addInlines(inline.children, flat);
  }
}

/** Blocks whose inline text is not read yet: its place is taken by the leaf. */
export type RawBlock = { isApart: boolean } & (
  | { type: "paragraph" | "heading"; leaf: Leaf }
  | { type: "table"; header: readonly Leaf[]; align: readonly Align[]; rows: readonly (readonly Leaf[])[] }
  | { type: "quote"; blocks: RawBlock[] }
  | { type: "list"; kind: string; isOrdered: boolean; start: number; items: { blocks: RawBlock[] }[] }
  | Extract<MarkdownBlock, { type: "code" | "html" | "hr" }>
);

export type Container = { type: "root" | "quote"; blocks: RawBlock[] } | Item;
export type Item = { type: "item"; blocks: RawBlock[]; contentIndent: number };

export type Paragraph = {
  type: "paragraph";
  isApart: boolean;
  texts: string[];
  lines: { at: number; source: number }[];
  length: number;
};
export type OpenLeaf =
  | Paragraph
  | { type: "fence"; isApart: boolean; fence: Fence; indent: number; texts: string[]; start: number; end: number }
  | { type: "indented"; isApart: boolean; texts: string[]; start: number; end: number }
  | { type: "html"; isApart: boolean; html: HtmlStart; texts: string[]; start: number; end: number }
  | { type: "table"; isApart: boolean; header: Leaf[]; align: Align[]; rows: Leaf[][] };

/** The text of a block without the marks of the quotes and lists around it: `content[at]` stands at `source` in the whole, up to the next one. */
export type Leaf = { content: string; lines: readonly { at: number; source: number }[] };

/** Ordinary Markdown takes about five steps per character. */
const maxStepsPerCharacter = 100;
const maxStepsOfAnyText = 10_000;

export class TooMuchWork extends Error {}

/** Counts the work of reading a text, so that it is bounded whatever the machine is doing. */
export type Work = {
  /** Throws `TooMuchWork` above the limit. One step is about one character looked at. */
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

/** Where the content of those lines stands in the whole text. */
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

export function trimmedLeaf({ content, lines }: Leaf): Leaf {
  const before = content.length - content.trimStart().length;
  return { content: content.trim(), lines: lines.map(({ at, source }) => ({ at: at - before, source })) };
}
