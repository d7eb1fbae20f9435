/**
 * Escapes, decodes or disables characters of an agent's text that have an effect in Slack
 * (https://docs.slack.dev/messaging/formatting-message-text, "Escaping text").
 */
import { sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Escapes the three characters of Slack's notation. Otherwise, `<!channel>` would notify everyone, `<@U…>` would notify a person,
 * and `<https://…|label>` would hide the target of a link. Plain URLs, `*bold*`, lists and code still work.
 */
export function escapeMrkdwn(text: string): string {
  return text.replace(/[&<>]/g, (character) => escapes[character] ?? character);
}

const entity = "&(?:#\\w{1,9}|[a-z]\\w{1,24});";

/** Matches mentions, channels, broadcasts, groups and dates, even with entities or backslashes in them. */
const named = `\\\\*(?:[@#!]|${entity})(?:\\\\*(?:\\w|${entity}))`;

/** Matches the scheme of a URL. */
const linked = `\\\\*(?:[a-z]|${entity})(?:[a-z0-9+.-]|${entity}){0,30}`;

/**
 * Matches Slack's notation anywhere in a text, even with entities or backslashes in it: mentions, broadcasts, groups, dates, channels
 * and labeled links. Does not match Markdown and HTML (`<https://example.com>`, `<!DOCTYPE html>`, `<!-- … -->`).
 */
const notation = new RegExp(
  [
    `<(?=(?!!doctype\\b)${named}|&#|${linked}(?::|${entity})[^\\s<>|]*?(?:\\||&(?:#\\w{1,9}|vert|verbar|verticalline);))`,
    `(?:&lt;|&#0{0,9}60;|&#x0{0,9}3c;)(?=(?!!doctype\\b)${named}|&#|${linked}(?::|${entity}))`,
  ].join("|"),
  "gi",
);

export function removeNotation(text: string): string {
  return text.replace(notation, (open) => `${open}${wordJoiner}`);
}

/** Undoes `removeNotation` in texts in which `<` is escaped anyway. */
export function removeJoiners(text: string): string {
  return text.replaceAll(`<${wordJoiner}`, "<");
}

/** A link as Slack writes it. An address in brackets without a label is Markdown too. */
export const slackLink = /<((?:https?:\/\/|mailto:|tel:)[^\s<>|]+)(?:\|([^<>\n]*))?>/gi;

/** Writes each link as its label and its address, for texts in which nothing is a link. */
export function writeOutSlackLinks(text: string): string {
  return text.replace(slackLink, (_notation, target: string, label = "") => {
    const address = target.replace(/^(?:mailto|tel):/i, "").replaceAll("&amp;", "&");
    const name = label.trim();
    return name === "" || name === address ? address : `${name} (${address})`;
  });
}

const names: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0" },
  ...{ ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009", tab: "\t" },
  ...{ shy: "\u00AD", zwj: "\u200D", zwnj: "\u200C", lrm: "\u200E", rlm: "\u200F" },
  ...{
    period: ".",
    colon: ":",
    sol: "/",
    commat: "@",
    lowbar: "_",
    num: "#",
    quest: "?",
    equals: "=",
  },
};
const entities = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi;
/** Invisible. Replaces a removed character, so that the text on both sides does not join into another entity or notation. */
export const wordJoiner = "\u2060";

/**
 * Decodes common entities and keeps others. Replaces the entities of control and bidirectional characters, because these characters
 * were removed from the text before and must not come back.
 */
export function decodeEntities(value: string): string {
  if (!value.includes("&")) return value;
  return value.replace(entities, (entity, ...found) => {
    const character = characterOf(found);
    if (character === undefined) return entity;
    return isActive(character) ? wordJoiner : character;
  });
}

/** Removes the entities of control and bidirectional characters, because Slack would decode them. */
export function removeActiveEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(entities, (entity, ...found) => {
    const character = characterOf(found);
    return character !== undefined && isActive(character) ? wordJoiner : entity;
  });
}

function characterOf([decimal, hex, name]: readonly (string | undefined)[]): string | undefined {
  if (name !== undefined) return names[name.toLowerCase()];
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  const isCharacter = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  // Parsers disagree on whether an encoded line end ends a line of Markdown.
  if (!isCharacter || code === 0x09 || code === 0x0a) return undefined;
  return String.fromCodePoint(code);
}

function isActive(character: string): boolean {
  return character === "\r" || sanitizeLines(character) !== character;
}
