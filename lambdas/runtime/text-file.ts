/** Reads text files that a person writes. */
import { readFileSync } from "node:fs";

/**
 * Editors and shells on Windows write UTF-8 or UTF-16 and may begin the file with a byte order mark, which says which of the two it
 * is. The mark is not part of the text. Throws like `readFileSync`.
 */
export function readTextFile(path: string): string {
  const bytes = readFileSync(path);
  const mark = bytes.subarray(0, 2).toString("hex");
  const encoding = mark === "fffe" ? "utf-16le" : mark === "feff" ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}
