/** An agent's Markdown made safe to show: nothing in it notifies anybody, and no link says that it leads elsewhere than it does. Pure. */
import { withCjkEmphasis } from "./cjk-emphasis.ts";
import { tellsAnotherAddress } from "./link-labels.ts";

/** Invisible, and no place to break a line: behind it `<` begins nothing. */
const wordJoiner = "\u2060";

/**
 * Slack's own notation, wherever it stands and however its `<` is written: mentions, broadcasts, groups, dates, channels, and
 * links with a label. Real Markdown and HTML are none of it (`<https://example.com>`, `<!DOCTYPE html>`, `<!-- … -->`).
 */
const slackNotation =
  /(?<open><|&lt;|&#0*60;|&#x0*3c;)(?=\\?[@#]\w|\\?!(?!doctype\b)[a-z]|\\?[a-z][a-z0-9+.-]{0,20}:[^\s<>|]{0,2000}\|)/gi;

/** By these an address would be read backwards. */
const reversed = /[\u202D\u202E]/g;

/** A link or an image with its address behind it; the label may hold brackets of one more level. */
const inlineLink =
  /!?\[(?<label>(?:[^[\]]|\[[^[\]]*\]){0,1000})\]\([ \t]*<?(?<address>[^\s<>()]{1,2000}(?:\([^\s<>()]*\)[^\s<>()]*)?)>?(?:\s+["'(][^\n]{0,300}["')])?[ \t]*\)/g;
const definition = /^[ \t>]*\[(?<name>[^[\]\n]{1,200})\]:[ \t]*<?(?<address>[^\s<>]{1,2000})>?/gm;
const referenceLink = /!?\[(?<label>[^[\]\n]{1,1000})\](?:\[(?<name>[^[\]\n]{0,200})\])?(?![(:])/g;

/** Bold that Markdown would not take for bold between letters without blanks is made so, too. */
export function safeMarkdown(text: string): string {
  return withCjkEmphasis(inertMarkdown(text));
}

function inertMarkdown(text: string): string {
  const inert = text.replace(reversed, "").replace(slackNotation, (open) => `${open}${wordJoiner}`);
  const honest = inert.replace(inlineLink, (link, label: string, address: string) => shown({ link, label, address }));
  const addresses = new Map<string, string>();
  for (const { groups } of honest.matchAll(definition))
    if (groups !== undefined) addresses.set(nameOf(groups.name ?? ""), groups.address ?? "");
  if (addresses.size === 0) return honest;
  return honest.replace(referenceLink, (link, label: string, name: string | undefined) => {
    const address = addresses.get(nameOf(name === undefined || name === "" ? label : name));
    return address === undefined ? link : shown({ link, label, address });
  });
}

/** What `safeMarkdown` put in goes where `<` is escaped anyway. */
export function withoutJoiners(text: string): string {
  return text.replaceAll(`<${wordJoiner}`, "<");
}

function shown({ link, label, address }: { link: string; label: string; address: string }): string {
  return tellsAnotherAddress({ label, address }) ? `${label} (${address})` : link;
}

function nameOf(name: string): string {
  return name.trim().replace(/\s+/g, " ").toLowerCase();
}
