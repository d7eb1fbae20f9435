/**
 * Parses Markdown and Slack's mrkdwn into a tree with few kinds of nodes, which the browser draws as elements. Text is never
 * inserted as HTML, so that nobody can inject markup.
 */
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import type {
  Cell,
  Inline,
  List,
  MarkdownBlock,
  Table,
} from "@sekisho/verification/slack/markdown/nodes.ts";
import {
  findFakeChannel,
  findFakePerson,
  groups,
  isOwnBot,
  otherBot,
  workflow,
} from "../fake-slack/workspace.ts";
import type { DisplayNode } from "../web/display-node.ts";

type Tag = Exclude<DisplayNode, string>["tag"];

export function createNode(
  tag: Tag,
  children: readonly DisplayNode[] = [],
  attributes: { lang?: string; start?: number } = {},
): DisplayNode {
  return { tag, children, ...attributes };
}

/** A link if its address is safe to open, else its text with the address behind it. */
export function createLinkNodes(link: {
  href: string;
  children: readonly DisplayNode[];
}): DisplayNode[] {
  const { href, children } = link;
  const { protocol } = parseUrl(href) ?? {};
  const isSafe = protocol === "https:" || protocol === "http:" || protocol === "mailto:";
  return isSafe ? [{ tag: "a", children, href }] : [...children, ` (${href})`];
}

const entities: Record<string, string> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
};

/** Slack escapes the characters of its own notation with these entities. */
function decodeSlackEntities(text: string): string {
  return text.replace(/&(?:lt|gt|amp|quot|#39);/g, (entity) => entities[entity] ?? entity);
}

const emoji: Record<string, string> = {
  eyes: "👀",
  white_check_mark: "✅",
  x: "❌",
  warning: "⚠️",
  hourglass_flowing_sand: "⏳",
  tada: "🎉",
  wave: "👋",
  "+1": "👍",
  paperclip: "📎",
};

export function findEmoji(name: string): string {
  return emoji[name] ?? `:${name}:`;
}

/** Markdown as Slack's markdown block shows it (https://docs.slack.dev/reference/block-kit/blocks/markdown-block). HTML in it stays text. */
export function createMarkdownTree(text: string): DisplayNode[] {
  return treeOf(parseMarkdown(text.replace(/\r\n?/g, "\n")).blocks);
}

function treeOf(blocks: readonly MarkdownBlock[]): DisplayNode[] {
  return blocks.flatMap((block) =>
    block.type === "html" ? [decodeSlackEntities(block.text)] : [blockTree(block)],
  );
}

function blockTree(block: MarkdownBlock): DisplayNode {
  switch (block.type) {
    case "heading":
      return createNode("h", inlineTree(block.children));
    case "paragraph":
      return createNode("p", inlineTree(block.children));
    case "quote":
      return createNode("blockquote", treeOf(block.blocks));
    case "hr":
      return createNode("hr");
    case "code":
      return createNode("pre", [block.text], block.lang === "" ? {} : { lang: block.lang });
    case "list":
      return listTree(block);
    case "table":
      return tableTree(block);
    case "definitions":
      return "";
    case "html":
    case "as_written":
      return createNode("p", [decodeSlackEntities(block.text)]);
  }
}

function inlineTree(inlines: readonly Inline[]): DisplayNode[] {
  return inlines.flatMap((inline) => {
    switch (inline.type) {
      case "br":
        return [createNode("br")];
      case "codespan":
        return [createNode("code", [inline.text])];
      case "strong":
      case "em":
      case "del":
        return [createNode(inline.type, inlineTree(inline.children))];
      case "link":
      case "image":
        return createLinkNodes({ href: inline.href, children: inlineTree(inline.children) });
      default:
        return [decodeSlackEntities(inline.text)];
    }
  });
}

function listTree({ isOrdered, start, items }: List): DisplayNode {
  const children = items.map(({ isChecked, blocks }) =>
    createNode("li", [
      ...(isChecked === undefined ? [] : [isChecked ? "☑ " : "☐ "]),
      ...itemTree(blocks),
    ]),
  );
  return createNode(isOrdered ? "ol" : "ul", children, isOrdered && start !== 1 ? { start } : {});
}

/** The paragraph of a list item follows the bullet on the same line. */
function itemTree(blocks: readonly MarkdownBlock[]): DisplayNode[] {
  return blocks.flatMap((block) =>
    block.type === "paragraph" && !block.isApart ? inlineTree(block.children) : [blockTree(block)],
  );
}

function tableTree({ header, rows }: Table): DisplayNode {
  const row = (tag: "th" | "td", cells: readonly Cell[]) =>
    createNode(
      "tr",
      cells.map(({ children }) => createNode(tag, inlineTree(children))),
    );
  return createNode("table", [row("th", header), ...rows.map((cells) => row("td", cells))]);
}

/** Slack formats between signs that no blank follows or precedes: `2 * 3 * 4` stays as it is. */
const pieces =
  /(```[\s\S]*?```|`[^`\n]+`|<[^<>\n]+>|(?<![\w*])\*(?!\s)[^*\n]+(?<!\s)\*(?![\w*])|(?<![\w_])_(?!\s)[^_\n]+(?<!\s)_(?![\w_])|(?<![\w~])~(?!\s)[^~\n]+(?<!\s)~(?![\w~])|:[a-z0-9_+'-]+:)/;

type NameOf = (id: string) => string;

/** The name of a user, a user group or a channel. */
export function findDisplayName(id: string): string {
  if (isOwnBot(id)) return "Sekisho";
  if (id === otherBot.user) return otherBot.name;
  if (id === workflow.bot) return workflow.name;
  const group = groups.find((each) => each.id === id);
  return group?.handle ?? findFakePerson(id)?.name ?? findFakeChannel(id)?.name ?? id;
}

/** Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text). `nameOf` names a mentioned user or channel. */
export function createMrkdwnTree(text: string, nameOf: NameOf = findDisplayName): DisplayNode[] {
  const shownNodes: DisplayNode[] = [];
  let quotedLines: string[] = [];
  const endQuote = () => {
    if (quotedLines.length > 0)
      shownNodes.push(createNode("blockquote", inline(quotedLines.join("\n"), nameOf)));
    quotedLines = [];
  };
  // A code block may contain lines that look like a quote.
  for (const part of text.split(/(```[\s\S]*?```)/)) {
    if (part.startsWith("```")) {
      endQuote();
      shownNodes.push(...inline(part, nameOf));
      continue;
    }
    const lines = part.split("\n");
    for (const [index, line] of lines.entries()) {
      if (/^(&gt;|>)/.test(line)) {
        quotedLines.push(line.replace(/^(&gt;|>) ?/, ""));
        continue;
      }
      endQuote();
      shownNodes.push(...inline(index < lines.length - 1 ? `${line}\n` : line, nameOf));
    }
  }
  endQuote();
  return shownNodes.filter((each) => each !== "");
}

const styles: Readonly<Record<string, Tag>> = { "*": "strong", _: "em", "~": "del" };

function inline(text: string, nameOf: NameOf): DisplayNode[] {
  return text.split(pieces).flatMap((piece, index): DisplayNode[] => {
    // Every second piece is a match. The text between two may look like one.
    if (index % 2 === 0) return piece === "" ? [] : [decodeSlackEntities(piece)];
    const [sign = ""] = piece;
    const inner = piece.slice(1, -1);
    const tag = styles[sign];
    if (tag !== undefined) return [createNode(tag, inline(inner, nameOf))];
    if (sign === "<") return special(inner, nameOf);
    if (sign === ":") return [findEmoji(inner)];
    if (!piece.startsWith("```")) return [createNode("code", [decodeSlackEntities(inner)])];
    return [createNode("pre", [decodeSlackEntities(piece.slice(3, -3).trim())])];
  });
}

/** Mentions, dates, broadcasts and links. */
function special(inner: string, nameOf: NameOf): DisplayNode[] {
  const [target = "", label] = inner.split("|");
  if (/^[@#]/.test(target))
    return [createNode("mention", [`${target[0]}${label ?? nameOf(target.slice(1))}`])];
  if (target.startsWith("!date^")) return [decodeSlackEntities(label ?? "")];
  if (target.startsWith("!subteam^"))
    return [createNode("mention", [`@${label ?? nameOf(target.slice("!subteam^".length))}`])];
  if (target.startsWith("!")) return [createNode("mention", [`@${label ?? target.slice(1)}`])];
  return createLinkNodes({
    href: decodeSlackEntities(target),
    children: [decodeSlackEntities(label ?? target)],
  });
}
