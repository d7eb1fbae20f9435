/** Slack's own notation (`<!channel>`, `<@U…>`, `<https://…|label>`) in an agent's text: made to do nothing. Pure. */

/** Invisible, and no place to break a line: behind it `<` begins nothing. */
const wordJoiner = "\u2060";

/**
 * Wherever it stands and however its `<` is written: mentions, broadcasts, groups, dates, channels, links with a label, and what
 * may be one of these once entities are read. Real Markdown and HTML are none of it (`<https://example.com>`, `<!DOCTYPE html>`,
 * `<!-- … -->`).
 */
const notation =
  /<(?=\\?[@#]\w|\\?!(?!doctype\b)[a-z]|&#|\\?[a-z][a-z0-9+.-]{0,20}:[^\s<>|]{0,2000}\|)|(?:&lt;|&#0{0,9}60;|&#x0{0,9}3c;)(?=\\?[@#]\w|\\?!(?!doctype\b)[a-z]|&#|\\?[a-z][a-z0-9+.-]{0,20}:)/gi;

export function withoutNotation(text: string): string {
  return text.replace(notation, (open) => `${open}${wordJoiner}`);
}

/** What `withoutNotation` put in goes where `<` is escaped anyway. */
export function withoutJoiners(text: string): string {
  return text.replaceAll(`<${wordJoiner}`, "<");
}
