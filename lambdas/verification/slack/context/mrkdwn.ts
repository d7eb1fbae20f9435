/**
 * Converts Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text) to Markdown. Ids stay ids (`names.ts`), and dates
 * become ISO 8601, because an author chooses the words that Slack shows in place of one.
 */

import { writeId } from "./names.ts";
import { type Reading, toIsoDate } from "./values.ts";

/** Stands for a mention of the bot until `removeBotMentions`. Not a character, so no text that was read has it. */
export const botMention = "\uFFFE";
/** Stands for code or a link while the text around it is converted. */
const placeholder = "\uFFFF";

export function removeBotMentions(text: string): string {
  return text.replace(/\uFFFE[ \t]*/g, "");
}

const unescapes: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };

/** Undoes Slack's escaping in one pass, so that a typed `&lt;`, sent as `&amp;lt;`, stays `&lt;`. */
export function unescapeMrkdwn(text: string): string {
  return text.replace(/&(?:amp|lt|gt);/g, (entity) => unescapes[entity] ?? entity);
}

/** `text` was read with `textOf`. */
export function mrkdwnToMarkdown(text: string, reading: Reading): string {
  const pieces = text.split("```");
  return pieces.map((piece, index) => convertPiece({ piece, index, pieces }, reading)).join("");
}

type Piece = { piece: string; index: number; pieces: readonly string[] };

/** Every second piece is code. A fence of Markdown stands on a line of its own. */
function convertPiece({ piece, index, pieces }: Piece, reading: Reading): string {
  const isLast = index === pieces.length - 1;
  if (index % 2 === 0) return convertText(piece, reading);
  // Nothing closes the last fence, or nothing is in it.
  if (isLast) return `\`\`\`${convertText(piece, reading)}`;
  if (piece.trim() === "") return `\`\`\`${piece}\`\`\``;
  const code = codeText(piece, reading).replace(/^\n|\n$/g, "");
  const start = /(?:^|\n)$/.test(pieces[index - 1]?.slice(-1) ?? "") ? "" : "\n";
  const end = /^(?:$|\n)/.test(pieces[index + 1]?.slice(0, 1) ?? "") ? "" : "\n";
  return `${start}\`\`\`\n${code}\n\`\`\`${end}`;
}

/** Slack writes a link in code as everywhere else, but shows its label only. */
function codeText(code: string, reading: Reading): string {
  const convert = (token: string) => {
    const { target, label } = splitToken(token);
    return /^[a-z][a-z0-9+.-]*:/i.test(target)
      ? unescapeMrkdwn(label || target)
      : convertToken(token, reading);
  };
  return replaceTokens(code, { tokens: /<[^<>\n]+>/g, convert, around: unescapeMrkdwn });
}

function convertText(text: string, reading: Reading): string {
  return replaceTokens(text, {
    tokens: /`[^`\n]+`|<[^<>\n]+>/g,
    convert: (token) =>
      token.startsWith("`") ? codeText(token, reading) : convertToken(token, reading),
    around: (between) => unescapeMrkdwn(emphasize(between)),
  });
}

/** Converts links, mentions and dates only: the text of a command, and plain texts of attachments, have no marks. */
export function notationToMarkdown(text: string, reading: Reading): string {
  const convert = (token: string) => convertToken(token, reading);
  return replaceTokens(text, { tokens: /<[^<>\n]+>/g, convert, around: unescapeMrkdwn });
}

/** Converts each token, and the text around them as a whole, because emphasis may contain tokens. */
function replaceTokens(
  text: string,
  request: { tokens: RegExp; convert: (token: string) => string; around: (text: string) => string },
): string {
  const convertedTokens: string[] = [];
  const markedText = text.replace(request.tokens, (token) => {
    convertedTokens.push(request.convert(token));
    return placeholder;
  });
  let index = 0;
  return request.around(markedText).replaceAll(placeholder, () => convertedTokens[index++] ?? "");
}

/** Slack's marks count only between blanks or punctuation, on one line. `_italic_` is the same in Markdown. */
function emphasize(text: string): string {
  return text
    .replace(/(?<![\p{L}\p{N}*])\*(?=[^\s*])([^*\n]+)(?<=\S)\*(?![\p{L}\p{N}*])/gu, "**$1**")
    .replace(/(?<![\p{L}\p{N}~])~(?=[^\s~])([^~\n]+)(?<=\S)~(?![\p{L}\p{N}~])/gu, "~~$1~~")
    .replace(/^([ \t]*)[•◦▪]\uFE0E?[ \t]+/gm, "$1- ");
}

function splitToken(token: string): { target: string; label: string } {
  const inner = token.slice(1, -1);
  const bar = inner.indexOf("|");
  return bar < 0
    ? { target: inner, label: "" }
    : { target: inner.slice(0, bar), label: inner.slice(bar + 1).trim() };
}

/** Returns the text between `<` and `>` as Markdown, or the token as it is if it is not Slack's. */
function convertToken(token: string, { botUsers }: Reading): string {
  const { target, label: escapedLabel } = splitToken(token);
  const label = unescapeMrkdwn(escapedLabel);
  const [, sign, id = ""] = /^([@#])([A-Z0-9]+)$/.exec(target) ?? [];
  // The author of a message chooses the label of a person, and could name somebody else there.
  if (sign === "@") return botUsers.includes(id) ? botMention : writeId({ sign, id });
  if (sign === "#") return writeId({ sign, id, label });
  if (target.startsWith("!")) return convertCommand(target, label);
  const url = unescapeMrkdwn(target);
  return /^[a-z][a-z0-9+.-]*:/i.test(url) ? writeLink({ url, label }) : unescapeMrkdwn(token);
}

function convertCommand(target: string, label: string): string {
  const [name = "", ...args] = target.slice(1).split("^");
  if (name === "subteam" && /^[A-Z0-9]+$/.test(args[0] ?? ""))
    return writeId({ sign: "@", id: args[0] ?? "", label });
  if (name === "here" || name === "channel" || name === "everyone") return `@${name}`;
  if (name !== "date") return label;
  const [seconds = "", , url = ""] = args;
  const date = /^-?\d{1,15}$/.test(seconds) ? toIsoDate(seconds) : undefined;
  return writeLink({ url: unescapeMrkdwn(url), label: date ?? label });
}

/** Writes a Markdown link. A link that shows its own address is written as the address. */
export function writeLink({ url, label }: { url: string; label: string }): string {
  const cleanLabel = label.replace(/\s+/g, " ").trim();
  const address = url.replace(/^(?:mailto|tel):/i, "");
  if (url === "" || cleanLabel === address) return cleanLabel;
  if (cleanLabel === "" || cleanLabel === url) return address;
  const text = isBalanced(cleanLabel, "[]") ? cleanLabel : cleanLabel.replace(/[[\]]/g, "\\$&");
  const target = url.replace(/[<>\s]/g, encodeURIComponent);
  const isWhole = isBalanced(target, "()");
  return `[${text}](${isWhole ? target : target.replaceAll("(", "%28").replaceAll(")", "%29")})`;
}

/** Markdown needs no escapes for brackets in pairs. */
function isBalanced(text: string, brackets: "()" | "[]"): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === brackets[0]) depth += 1;
    if (character === brackets[1]) depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}
