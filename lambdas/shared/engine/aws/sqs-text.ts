/** Characters that SQS refuses in a body, pure: in JSON each of them has an escape, so that no text can be refused. */

/** SQS takes what XML 1.0 (section 2.2) calls a character; the rest are controls, lone surrogates, U+FFFE and U+FFFF. */
const refused = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/** The same JSON, without characters that SQS refuses. */
export function escapeSqsText(json: string): string {
  return json.replace(refused, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
