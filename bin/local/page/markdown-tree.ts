/** Markdown as Slack's markdown block shows it (https://docs.slack.dev/reference/block-kit/blocks/markdown-block), as the page draws it. */
import { lexer, type Token } from "marked";
import { decoded, link, node, type Shown } from "./shown.ts";

/** HTML in it is text, like everything that is not understood. */
export function markdownTree(text: string): Shown[] {
  return treeOf(lexer(text));
}

function treeOf(tokens: readonly Token[] | undefined): Shown[] {
  return (tokens ?? []).flatMap(shownOf);
}

function shownOf(token: Token): Shown[] {
  switch (token.type) {
    case "space":
      return [];
    case "heading":
      return [node("h", treeOf(token.tokens))];
    case "paragraph":
      return [node("p", treeOf(token.tokens))];
    case "blockquote":
      return [node("blockquote", treeOf(token.tokens))];
    case "hr":
      return [node("hr")];
    case "br":
      return [node("br")];
    case "code":
      return [node("pre", [String(token.text)], token.lang ? { lang: String(token.lang) } : {})];
    case "codespan":
      return [node("code", [String(token.text)])];
    case "strong":
    case "em":
    case "del":
      return [node(token.type, treeOf(token.tokens))];
    case "list":
      return [listOf(token as ListToken)];
    case "checkbox":
      return [token.checked ? "☑ " : "☐ "];
    case "table":
      return [tableOf(token as TableToken)];
    case "link":
    case "image":
      return link({ href: String(token.href), children: treeOf(token.tokens) });
    case "text":
      return token.tokens === undefined ? [decoded(String(token.text))] : treeOf(token.tokens);
    case "escape":
      return [decoded(String(token.text))];
    case "def":
      return [];
    default:
      return [decoded(String(token.raw))];
  }
}

type ListToken = { ordered: boolean; start: number | ""; items: { tokens: Token[] }[] };

function listOf({ ordered, start, items }: ListToken): Shown {
  const children = items.map((item) => node("li", treeOf(item.tokens)));
  return node(ordered ? "ol" : "ul", children, ordered && start !== "" && start !== 1 ? { start } : {});
}

type TableToken = { header: { tokens: Token[] }[]; rows: { tokens: Token[] }[][] };

function tableOf({ header, rows }: TableToken): Shown {
  const head = node(
    "tr",
    header.map((cell) => node("th", treeOf(cell.tokens))),
  );
  const body = rows.map((row) =>
    node(
      "tr",
      row.map((cell) => node("td", treeOf(cell.tokens))),
    ),
  );
  return node("table", [head, ...body]);
}
