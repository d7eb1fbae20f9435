/** Markdown as Slack's markdown block shows it (https://docs.slack.dev/reference/block-kit/blocks/markdown-block), as the page draws it. */

import { parseMarkdown } from "../../../lambdas/verification/slack/markdown/markdown.ts";
import type { Block, Cell, Inline, List, Table } from "../../../lambdas/verification/slack/markdown/nodes.ts";
import { decoded, link, node, type Shown } from "./shown.ts";

/** HTML in it is text, like everything that is not understood. */
export function markdownTree(text: string): Shown[] {
  return treeOf(parseMarkdown(text.replace(/\r\n?/g, "\n")).blocks);
}

function treeOf(blocks: readonly Block[]): Shown[] {
  return blocks.flatMap((block) => (block.type === "html" ? [decoded(block.text)] : [blockTree(block)]));
}

function blockTree(block: Block): Shown {
  switch (block.type) {
    case "heading":
      return node("h", inlineTree(block.children));
    case "paragraph":
      return node("p", inlineTree(block.children));
    case "quote":
      return node("blockquote", treeOf(block.blocks));
    case "hr":
      return node("hr");
    case "code":
      return node("pre", [block.text], block.lang === "" ? {} : { lang: block.lang });
    case "list":
      return listTree(block);
    case "table":
      return tableTree(block);
    case "html":
    case "as_written":
      return node("p", [decoded(block.text)]);
  }
}

function inlineTree(inlines: readonly Inline[]): Shown[] {
  return inlines.flatMap((inline) => {
    switch (inline.type) {
      case "br":
        return [node("br")];
      case "codespan":
        return [node("code", [inline.text])];
      case "strong":
      case "em":
      case "del":
        return [node(inline.type, inlineTree(inline.children))];
      case "link":
      case "image":
        return link({ href: inline.href, children: inlineTree(inline.children) });
      default:
        return [decoded(inline.text)];
    }
  });
}

function listTree({ isOrdered, start, items }: List): Shown {
  const children = items.map(({ isChecked, blocks }) =>
    node("li", [...(isChecked === undefined ? [] : [isChecked ? "☑ " : "☐ "]), ...itemTree(blocks)]),
  );
  return node(isOrdered ? "ol" : "ul", children, isOrdered && start !== 1 ? { start } : {});
}

/** A paragraph of an item stands right behind its mark. */
function itemTree(blocks: readonly Block[]): Shown[] {
  return blocks.flatMap((block) =>
    block.type === "paragraph" && !block.isApart ? inlineTree(block.children) : [blockTree(block)],
  );
}

function tableTree({ header, rows }: Table): Shown {
  const row = (tag: "th" | "td", cells: readonly Cell[]) =>
    node(
      "tr",
      cells.map(({ children }) => node(tag, inlineTree(children))),
    );
  return node("table", [row("th", header), ...rows.map((cells) => row("td", cells))]);
}
