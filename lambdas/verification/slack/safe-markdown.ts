/** An agent's Markdown made safe to show: nothing in it notifies anybody, and no link says that it leads elsewhere than it does. Pure. */
import { withCjkEmphasis } from "./cjk-emphasis.ts";
import { honestLinks } from "./honest-links.ts";
import { withoutDepth } from "./markdown-depth.ts";
import { withoutNotation } from "./slack-notation.ts";

/** By these an address would be read backwards. */
const reversed = /[\u202D\u202E]/g;

/** Bold that Markdown would not take for bold between letters without blanks is made so, too. */
export function safeMarkdown(text: string): string {
  const inert = withoutNotation(withoutDepth(text.replace(reversed, "")));
  // What a link's label and its address leave beside each other may be notation again.
  return withCjkEmphasis(withoutNotation(honestLinks(inert)));
}

/** A part of safe Markdown: what was code in the whole may be none where it was cut. At most `maxLength`, as `part` is. */
export function safePart({ part, maxLength }: { part: string; maxLength: number }): string {
  const safe = safeMarkdown(part);
  return safe.length <= maxLength ? safe : part.replaceAll("[", "［");
}
