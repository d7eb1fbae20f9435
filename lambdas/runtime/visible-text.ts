/** Decides whether a text shows anything to a person. */

/** Drawn as nothing or as a blank: control, format and unassigned characters, and fillers. Part of a character class. */
export const invisible = "\\p{Cc}\\p{Cf}\\p{Cs}\\p{Cn}\\p{DI}\\u2800\\u{1D159}\\u{13441}\\u{13442}";

/** Excludes blanks, marks without a letter and unknown characters, which show nothing by themselves. */
const visible = new RegExp(`[^\\p{C}\\p{Z}\\p{M}\\s${invisible}]`, "u");

/** Reads `text` as plain text. */
export function isVisible(text: string): boolean {
  return visible.test(text);
}
