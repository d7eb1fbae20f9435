/** Sets one member in the text of a JSON file, and keeps the rest of the text as it is. */
import { applyEdits, modify } from "jsonc-parser";

export function setMember(text: string, path: readonly string[], value: unknown): string {
  const [, indent = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  const formattingOptions = {
    insertSpaces: !indent.includes("\t"),
    tabSize: indent.includes("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
  return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
}
