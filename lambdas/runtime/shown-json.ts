/**
 * Shows in Markdown what others wrote, such as the arguments of a tool that waits for an approval: as JSON in a code block that nothing in it
 * can leave, with every character that could hide or reorder others written as its number.
 */
import { escapeActiveCharacters, sanitizeLine, truncate } from "./untrusted-input.ts";

const maxNameLength = 100;

/** Returns a name as code of Markdown, on one line. */
export function quoteName(name: string): string {
  return `\`${truncate(sanitizeLine(name), maxNameLength).replaceAll("`", "'")}\``;
}

/** Longer data is not indented, and of data that is still longer only the beginning is shown. */
const maxShownLength = 3000;

/** Returns a code block of Markdown. Indented, a megabyte of deep data would take a hundred. */
export function formatJson(value: unknown): string {
  const json = JSON.stringify(value);
  const shownJson = escapeActiveCharacters(json.slice(0, maxShownLength + 1));
  if (shownJson.length > maxShownLength) {
    return `${codeBlock(shownJson.slice(0, maxShownLength).toWellFormed())}\n\nThe data is longer than what is shown.`;
  }
  const indentedJson = escapeActiveCharacters(JSON.stringify(value, undefined, 2));
  return codeBlock(indentedJson.length > maxShownLength ? shownJson : indentedJson);
}

function codeBlock(json: string): string {
  return `\`\`\`json\n${json}\n\`\`\``;
}
