/** Markdown as Slack's markdown block shows it (https://docs.slack.dev/reference/block-kit/blocks/markdown-block), as the page draws it. */

import { parseMarkdown } from "../../../lambdas/verification/slack/markdown/markdown.ts";
import type { Cell, Inline, List, MarkdownBlock, Table } from "../../../lambdas/verification/slack/markdown/nodes.ts";
import { createLinkNodes, createNode, type DisplayNode, decodeSlackEntities } from "./display-node.ts";

/** HTML in it is text, like everything that is not understood. */
export function createMarkdownTree(text: string): DisplayNode[] {
  return treeOf(parseMarkdown(text.replace(/\r\n?/g, "\n")).blocks);
}

function treeOf(blocks: readonly MarkdownBlock[]): DisplayNode[] {
  return blocks.flatMap((block) => (block.type === "html" ? [decodeSlackEntities(block.text)] : [blockTree(block)]));
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
    createNode("li", [...(isChecked === undefined ? [] : [isChecked ? "☑ " : "☐ "]), ...itemTree(blocks)]),
  );
  return createNode(isOrdered ? "ol" : "ul", children, isOrdered && start !== 1 ? { start } : {});
}

/** A paragraph of an item stands right behind its mark. */
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
