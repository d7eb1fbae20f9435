/**
 * Characters of an agent's text that would act in Slack: they are escaped, decoded or made to do nothing
 * (https://docs.slack.dev/messaging/formatting-message-text, "Escaping text").
 */
import { sanitizeLines } from "../../../shared/untrusted-input.ts";

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * The three characters by which a text could do more than be read: `<!channel>` would notify everyone, `<@U…>` a person,
 * `<https://…|label>` would hide where a link goes. Plain URLs are still links, and `*bold*`, lists and code still format.
 */
export function escapeMrkdwn(text: string): string {
  return text.replace(/[&<>]/g, (character) => escapes[character] ?? character);
}

const entity = "&(?:#\\w{1,9}|[a-z]\\w{1,24});";

/** Mentions, channels, broadcasts, groups, dates, however their signs are written. `<!DOCTYPE` is HTML. */
const named = `\\\\*(?:[@#!]|${entity})(?:\\\\*(?:\\w|${entity}))`;

/** The scheme of an address, and a bar behind it. */
const linked = `\\\\*(?:[a-z]|${entity})(?:[a-z0-9+.-]|${entity}){0,30}`;

/**
 * Wherever it stands, and whether its signs are written as entities or behind backslashes: mentions, broadcasts, groups, dates,
 * channels, links with a label. Real Markdown and HTML are none of it (`<https://example.com>`, `<!DOCTYPE html>`, `<!-- … -->`).
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

/** What `removeNotation` put in goes where `<` is escaped anyway. */
export function removeJoiners(text: string): string {
  return text.replaceAll(`<${wordJoiner}`, "<");
}

const names: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0" },
  ...{ ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009", tab: "\t" },
  ...{ shy: "\u00AD", zwj: "\u200D", zwnj: "\u200C", lrm: "\u200E", rlm: "\u200F" },
  ...{ period: ".", colon: ":", sol: "/", commat: "@", lowbar: "_", num: "#", quest: "?", equals: "=" },
};
const entities = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi;
/** Shows nothing. It stands where a character was removed, so that what was on both sides does not become another entity or notation. */
const wordJoiner = "\u2060";

/**
 * Decodes the entities that agents write. Others stay as they are. A control character or one that sets the direction of writing is not
 * decoded: those characters are removed from texts before anybody decodes entities.
 */
export function decodeEntities(value: string): string {
  if (!value.includes("&")) return value;
  return value.replace(entities, (entity, ...found) => {
    const character = characterOf(found);
    if (character === undefined) return entity;
    return isActive(character) ? wordJoiner : character;
  });
}

/** Removes the entities that stand for such a character. What shows the text would decode them. */
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
  // A line end by number would end a line of Markdown for some readers only.
  if (!isCharacter || code === 0x09 || code === 0x0a) return undefined;
  return String.fromCodePoint(code);
}

function isActive(character: string): boolean {
  return character === "\r" || sanitizeLines(character) !== character;
}
