/** Texts of others on a person's terminal: without what moves its cursor, changes its colours or title, or turns a line around. Pure. */

const controls = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

export function terminalText(text: string): string {
  return text.replaceAll(controls, "");
}
