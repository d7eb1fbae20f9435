/** The blocks of a text that is split into messages. They are made from the tree: as they are written, or as mrkdwn. */
import type { Markdown } from "./markdown.ts";
import type { Code, MarkdownBlock, Table } from "./nodes.ts";

/**
 * Every piece of a split block repeats `head` (the opening of a fence, the header of a table) and `tail`. The lines of `body` are
 * divided among the pieces.
 */
export type TextBlock = {
  kind: "text" | "heading" | "fence" | "table" | "group";
  head: readonly string[];
  body: readonly string[];
  tail: readonly string[];
  /** Stands between the block and the one before it in the same message. */
  joint: string;
  /** Stands before what remains of a line that is cut: the marks of quotes, and blanks for those of lists. */
  prefix: string;
  /** The blocks of a group. A group that does not fit into a message is divided between them first. */
  pieces?: readonly TextBlock[];
  /** How far a list indents its lines. At the beginning of a message they would be code if they were still indented. */
  indent?: number | undefined;
  /** The node of the tree that the block shows in full. */
  node?: MarkdownBlock | undefined;
  table?: Table | undefined;
};

export function blockText({ head, body, tail }: TextBlock): string {
  return [...head, ...body, ...tail].join("\n");
}

export function hasText(block: TextBlock): boolean {
  return block.head.length > 1 || hasBody(block);
}

function hasBody({ body }: TextBlock): boolean {
  for (const line of body) if (/\S/.test(line)) return true;
  return false;
}

/** Returns the length in UTF-16 units, or infinity if it is above `maxLength`. Stops counting there. */
export function measureBlock({ head, body, tail }: TextBlock, maxLength: number): number {
  let length = -1;
  for (const lines of [head, body, tail]) {
    for (const line of lines) {
      length += line.length + 1;
      if (length > maxLength) return Number.POSITIVE_INFINITY;
    }
  }
  return length;
}

export function joinBlocks(blocks: readonly TextBlock[]): string {
  let text = "";
  for (const block of blocks) text += (block === blocks[0] ? "" : block.joint) + blockText(block);
  return text;
}

/** `nodes` are the nodes of the tree that the text shows, or undefined if one of them was split. */
export type Part = { text: string; nodes: readonly MarkdownBlock[] | undefined };

export function createPart(blocks: readonly TextBlock[]): Part {
  const nodes: MarkdownBlock[] = [];
  for (const { node } of blocks) if (node !== undefined) nodes.push(node);
  const text = joinBlocks(alignLists(blocks)).trimEnd();
  return { text, nodes: nodes.length === blocks.length ? nodes : undefined };
}

/** Moves lines of a list to the left if its beginning is not among the blocks, but not those of an item that begins here. */
function alignLists(blocks: readonly TextBlock[]): readonly TextBlock[] {
  let { indent: surplus = 0 } = blocks[0] ?? {};
  if (surplus === 0) return blocks;
  return blocks.map((block, index) => {
    const lines = blockText(block).split("\n");
    if (block.indent === undefined) surplus = 0;
    else if (index > 0) surplus = Math.min(surplus, countBlanks(lines[0] ?? ""));
    if (surplus === 0) return block;
    const body = lines.map((line) => line.slice(Math.min(surplus, countBlanks(line))));
    return { ...createTextBlock(""), body, joint: block.joint };
  });
}

function countBlanks(line: string): number {
  return /^[ \t]*/.exec(line)?.[0].length ?? 0;
}

export function createTextBlock(text: string): TextBlock {
  return { kind: "text", head: [], body: text.split("\n"), tail: [], joint: "\n", prefix: "" };
}

/** Returns undefined if there are no pieces. */
export function groupBlocks(pieces: readonly TextBlock[], joint: string): TextBlock | undefined {
  const [first, ...others] = pieces;
  if (first === undefined || others.length === 0) return first && { ...first, joint };
  const group = { ...createTextBlock(joinBlocks(pieces)), kind: "group" as const };
  return { ...group, joint, pieces };
}

/** Replaces each group by its pieces. */
export function listPieces(block: TextBlock): readonly TextBlock[] {
  const { pieces, joint } = block;
  if (pieces === undefined) return [block];
  return pieces.map((piece, index) => (index === 0 ? { ...piece, joint } : piece));
}

/** Returns the blocks as they are written in the text. Empty lines are not part of blocks, except within code. */
export function sourceBlocks({ text, blocks }: Markdown): TextBlock[] {
  const nodes = blocks.map((node) => ({ at: node.at, node }));
  return listSources({ text, starts: nodes, end: text.length, isWithin: false }).flatMap(
    (source) => {
      const { node, end, joint } = source;
      const isContainer = node?.type === "quote" || node?.type === "list";
      const starts = isContainer ? listStarts([node]) : [];
      const pieces = isContainer
        ? listSources({ text, starts, end, isWithin: true }).flatMap(createSourceBlocks)
        : createSourceBlocks(source);
      const block = groupBlocks(pieces, joint);
      return block === undefined || node === undefined
        ? []
        : [{ ...block, node, indent: undefined }];
    },
  );
}

/** The start of a container, of a list item, or of the block `node`, which has no blocks within it. */
type Start = { at: number; node?: MarkdownBlock };
/** `prefix` precedes the text of the block in its first line. A block has at least one line. */
type Source = {
  node: MarkdownBlock | undefined;
  end: number;
  lines: readonly string[];
  prefix: string;
  joint: string;
  /** True within a quote or list. */
  isWithin: boolean;
};

function listStarts(blocks: readonly MarkdownBlock[]): Start[] {
  return blocks.flatMap((block): Start[] => {
    const { at } = block;
    if (block.type === "quote") return [{ at }, ...listStarts(block.blocks)];
    if (block.type !== "list") return [{ at, node: block }];
    return block.items.flatMap((item) => [{ at: item.at }, ...listStarts(item.blocks)]);
  });
}

/** Divides the lines up to `end` among the blocks that start in them. Of several in one line, the last one has it. */
function listSources(request: {
  text: string;
  starts: readonly Start[];
  end: number;
  isWithin: boolean;
}): Source[] {
  const { text, starts, end, isWithin } = request;
  const places = starts
    .map((start) => ({ ...start, lineStart: text.lastIndexOf("\n", start.at - 1) + 1 }))
    .filter(({ lineStart }, index, all) => lineStart !== all[index + 1]?.lineStart);
  let joint = "\n";
  return places.map(({ at, node, lineStart }, index) => {
    const nextStart = places[index + 1]?.lineStart ?? end;
    const written = text.slice(lineStart, nextStart).split("\n");
    const lines = written.slice(0, written.findLastIndex((line) => /[^ \t]/.test(line)) + 1);
    const prefix = text.slice(lineStart, at);
    const source = { node, end: nextStart, lines, prefix, joint, isWithin };
    // The last line end is followed by the next block.
    joint = written.length - lines.length > 1 ? "\n\n" : "\n";
    return source;
  });
}

/** Returns a further block for lines behind a fence, such as empty ones of a quote. */
function createSourceBlocks(source: Source): TextBlock[] {
  const { node, joint, isWithin } = source;
  // A blank may be missing behind a `>`. It would be the first of those that indent further lines of a list item.
  const firstPrefix = source.prefix.replace(/>(?=[^\s>])/g, "> ");
  const [firstLine = "", ...others] = source.lines;
  const lines = [firstPrefix + firstLine.slice(source.prefix.length), ...others];
  const prefix = firstPrefix.replace(/[^\s>]/g, " ");
  const indent = prefix.length - prefix.trimStart().length;
  const block = {
    ...createTextBlock(""),
    body: lines,
    joint,
    prefix,
    indent: isWithin ? indent : undefined,
  };
  switch (node?.type) {
    case "heading":
      return [{ ...block, kind: "heading" }];
    case "code":
      return createFences(block, node, source.lines);
    case "table": {
      const [head, body] = [lines.slice(0, 2), lines.slice(2)];
      // A table behind the mark of a list or quote stays as it is.
      const table = source.prefix.trim() === "" ? node : undefined;
      return [{ ...block, kind: "table", head, body, table }];
    }
    default:
      return [block];
  }
}

/** Text that is indented this far is code. */
const codeIndent = 4;

/** `sourceLines` are the lines of the block as the text has them. */
function createFences(
  block: TextBlock,
  { fence, place }: Code,
  sourceLines: readonly string[],
): TextBlock[] {
  const { indent } = block;
  if (fence === undefined)
    return [{ ...block, indent: indent && Math.max(0, indent - codeIndent) }];
  const { marks, isClosed } = fence;
  const sourceText = sourceLines.join("\n").slice(0, place.end - place.start);
  const lines = block.body.slice(0, sourceText.split("\n").length);
  const tail = isClosed ? lines.slice(-1) : [block.prefix + marks];
  const body = lines.slice(1, isClosed ? -1 : lines.length);
  const further = block.body.slice(lines.length);
  return [
    { ...block, kind: "fence", head: lines.slice(0, 1), body, tail },
    ...(further.length === 0 ? [] : [{ ...block, body: further, joint: "\n" }]),
  ];
}
