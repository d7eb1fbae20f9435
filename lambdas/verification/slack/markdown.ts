/** The Markdown of an agent as tokens: one parser for all that is made of it. Pure. */
import { lexer, type Token } from "marked";

/** The parser fills every row up to the header's width: a wide header over many short rows would exhaust the memory. */
const maxCells = 50_000;

/** GitHub's Markdown. What the parser cannot take (quotes nested by the thousand) is one paragraph, as it was written. */
export function parseMarkdown(text: string): Token[] {
  if (mayFillMemory(text)) return asWritten(text);
  try {
    return lexer(text, { gfm: true });
  } catch {
    return asWritten(text);
  }
}

function mayFillMemory(text: string): boolean {
  const lines = text.split("\n");
  const columns = lines
    .filter((line) => line.includes("|") && /^[\s>|:\-*+\d.)]+$/.test(line))
    .reduce((most, rule) => Math.max(most, rule.split("|").length), 0);
  return columns * lines.length > maxCells;
}

function asWritten(text: string): Token[] {
  return [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text, escaped: false }] }];
}
