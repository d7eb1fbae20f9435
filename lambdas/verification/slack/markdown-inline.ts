/** The inside of a paragraph, a heading or a cell: from Markdown's tokens to Slack's mrkdwn, or to plain text. Pure. */

import type { Token, Tokens } from "marked";
import { escapeMrkdwn } from "./escape.ts";
import { tellsAnotherAddress } from "./link-labels.ts";
import { childrenOf } from "./markdown-tokens.ts";
import { withoutJoiners } from "./slack-notation.ts";

/** `isMark`: Slack takes it for formatting only where no letter touches it. */
type Piece = { text: string; isMark: boolean };
/** Invisible; parts a mark from the letters around it, as Japanese has no blanks there. */
const zeroWidthSpace = "\u200B";

/** `isBold`: it stands within bold text already, which Slack cannot nest. */
export function inlineMrkdwn({ tokens, isBold = false }: { tokens: readonly Token[]; isBold?: boolean }): string {
  let text = "";
  let afterMark = false;
  for (const piece of tokens.flatMap((token) => piecesOf({ token, isBold }))) {
    const touches =
      (piece.isMark && /[\p{L}\p{N}]$/u.test(text.slice(-2))) || (afterMark && /^[\p{L}\p{N}]/u.test(piece.text));
    text += (touches ? zeroWidthSpace : "") + piece.text;
    if (piece.text !== "") afterMark = piece.isMark;
  }
  return text;
}

/** Without any formatting; not escaped. */
export function inlinePlain(tokens: readonly Token[]): string {
  return tokens.map(plainOf).join("");
}

export type LinkToken = Tokens.Link | Tokens.Image;

export function isLink(token: Token): token is LinkToken {
  return token.type === "link" || token.type === "image";
}

/** One that stands there as an address, by itself or between angle brackets, says where it leads. */
export function isDisguised(link: LinkToken): boolean {
  return /^!?\[/.test(link.raw) && tellsAnotherAddress({ label: labelOf(link), address: link.href });
}

/** As it is read: without formatting, and without HTML. */
function labelOf(link: LinkToken): string {
  const children = childrenOf(link).filter(({ type }) => type !== "html");
  return link.type === "image" || children.length === 0 ? decodeEntities(link.text) : inlinePlain(children);
}

function piecesOf({ token, isBold }: { token: Token; isBold: boolean }): Piece[] {
  const inner = (bold = isBold) => inlineMrkdwn({ tokens: childrenOf(token), isBold: bold });
  switch (token.type) {
    case "strong":
      return [isBold ? text(inner()) : wrapped({ text: inner(true), mark: "*" })];
    case "em":
      return [wrapped({ text: inner(), mark: "_" })];
    case "del":
      return [wrapped({ text: inner(), mark: "~" })];
    case "codespan":
      return [wrapped({ text: escaped(decodeEntities(token.text)).replaceAll("`", "ˋ"), mark: "`" })];
    case "link":
      return [text(linkMrkdwn({ link: token as Tokens.Link, label: inner() }))];
    case "image":
      return [text(linkMrkdwn({ link: token as Tokens.Image, label: escaped(decodeEntities(token.text)) }))];
    default:
      return childrenOf(token).length === 0
        ? [text(escaped(plainOf(token)))]
        : childrenOf(token).flatMap((child) => piecesOf({ token: child, isBold }));
  }
}

function plainOf(token: Token): string {
  if (token.type === "br" || isLineBreak(token)) return "\n";
  if (token.type === "checkbox") return token.checked ? "☑ " : "☐ ";
  if (token.type === "html") return token.raw;
  const children = childrenOf(token);
  if (token.type !== "image" && children.length > 0) return inlinePlain(children);
  return "text" in token ? decodeEntities(String(token.text)) : token.raw;
}

/** Slack formats within a line only. */
function wrapped({ text: inner, mark }: { text: string; mark: string }): Piece {
  const lines = inner.split("\n").map((line) => (line.trim() === "" ? line : around({ line, mark })));
  return { text: lines.join("\n"), isMark: true };
}

function around({ line, mark }: { line: string; mark: string }): string {
  const bare = line.trim();
  return line.replace(bare, () => `${mark}${bare}${mark}`);
}

/** A label that is an address of elsewhere stands beside the link. */
function linkMrkdwn({ link, label }: { link: LinkToken; label: string }): string {
  const { href } = link;
  const shown = label.replace(/\s+/g, " ").trim();
  if (!/^(?:https?|mailto|tel):/i.test(href)) return shown === "" ? escaped(href) : `${shown} (${escaped(href)})`;
  const target = escaped(href.replace(/[|<>\s]/g, (character) => encodeURIComponent(character)));
  if (isDisguised(link)) return `${shown} (<${target}>)`;
  return shown === "" || shown === target || `mailto:${shown}` === target ? `<${target}>` : `<${target}|${shown}>`;
}

function isLineBreak(token: Token): boolean {
  return token.type === "html" && /^<br\s*\/?>\s*$/i.test(token.raw);
}

function text(value: string): Piece {
  return { text: value, isMark: false };
}

function escaped(value: string): string {
  return escapeMrkdwn(withoutJoiners(value));
}

const names: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0" },
  ...{ ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009", tab: "\t" },
  ...{ shy: "\u00AD", zwj: "\u200D", zwnj: "\u200C", lrm: "\u200E", rlm: "\u200F" },
  ...{ period: ".", colon: ":", sol: "/", commat: "@", lowbar: "_", num: "#", quest: "?", equals: "=" },
};

/** The entities that agents write; what is none of them stays as it is. */
export function decodeEntities(value: string): string {
  return value.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (entity, decimal, hex, name) => {
    if (name !== undefined) return names[String(name).toLowerCase()] ?? entity;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const isText = code >= 0x20 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isText ? String.fromCodePoint(code) : entity;
  });
}
