/** A file's name as it can be shown, and used as a name wherever it ends up. Pure. */

/** The contract's bound, in UTF-16 units. */
const maxLength = 255;
/** An ending that is longer is none. */
const maxExtensionLength = 16;

/** The last part of a path, without control characters and those that turn the direction of the text; never empty. */
export function safeFileName(name: string): string {
  const base = name.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const visible = base.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, "").trim();
  return /^\.*$/.test(visible) ? "file" : cut(visible);
}

/** From the middle, so that the ending still tells what it is. */
function cut(name: string): string {
  if (name.length <= maxLength) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= maxExtensionLength ? name.slice(dot) : "";
  const kept = name.slice(0, maxLength - extension.length);
  // Half a character is none.
  return `${kept.isWellFormed() ? kept : kept.slice(0, -1)}${extension}`;
}
