/** Text that any queue carries, in a known number of bytes. */

/** What is no character of XML 1.0 (section 2.2): controls, halves of surrogate pairs, U+FFFE and U+FFFF. */
const unstorable = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/**
 * The text with U+FFFD for characters that SQS refuses and that JSON would write six bytes long: three bytes for one UTF-16 unit
 * are then the most, so that the longest message stays below 256 KiB.
 */
export function storable(text: string): string {
  return text.replace(unstorable, "\ufffd");
}
