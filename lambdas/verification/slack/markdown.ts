/** The Markdown of an agent as tokens: one parser for all that is made of it. Pure. */
import { lexer, type Token } from "marked";

export type { Token, Tokens } from "marked";

/** GitHub's Markdown. What the parser cannot take (quotes nested by the thousand) is one paragraph, as it was written. */
export function parseMarkdown(text: string): Token[] {
  try {
    return lexer(text, { gfm: true });
  } catch {
    return [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text, escaped: false }] }];
  }
}
