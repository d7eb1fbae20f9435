/** The Markdown of an agent as tokens: one parser for all that is made of it, and never longer at work than the text is long. Pure. */
import { Lexer, type Token, Tokenizer } from "marked";
import { isTooDeep } from "./markdown-depth.ts";
import { createEffort, type Effort } from "./markdown-effort.ts";
import { tokensWithin } from "./markdown-tokens.ts";

/** The parser fills every row up to the header's width: a wide header over many short rows would exhaust the memory. */
const maxCells = 50_000;
/** It looks at the whole of a list's item again for each line of it. */
const mostLinesTogether = 5000;
/** From every line of a list on the parser would look for the line below a heading, to the end of the paragraph. */
const mostLinesOfHeading = 4;
/** What stands for text that the parser is not given; its `text` is as it was written. */
const asWrittenType = "as_written";

/** GitHub's Markdown. What the parser could not take, or only in a very long time, is there as it was written (`isAsWritten`). */
export function parseMarkdown(text: string): Token[] {
  if (mayFillMemory(text) || isEndless(text) || isTooDeep(text)) return [asWritten(text)];
  const lexer = new Lexer({ gfm: true, tokenizer: createTokenizer() });
  try {
    lexer.blockTokens(text.replace(/\r\n?/g, "\n"), lexer.tokens);
  } catch {
    return [asWritten(text)];
  }
  const effort = createEffort(text);
  for (const { src, tokens } of lexer.inlineQueue) tokens.push(...inlineTokens({ lexer, text: src, effort }));
  return [...lexer.tokens];
}

export function isAsWritten(token: Token): boolean {
  return token.type === asWrittenType;
}

function inlineTokens({ lexer, text, effort }: { lexer: Lexer; text: string; effort: Effort }): Token[] {
  if (!effort.take(text)) return [asWritten(text)];
  try {
    const tokens = lexer.inlineTokens(text, []);
    return effort.takeAddresses(referredAddresses(tokens)) ? tokens : [asWritten(text)];
  } catch {
    // Nested deeper than the stack is.
    return [asWritten(text)];
  }
}

/** Each of many short references repeats an address that stands in the text once. */
function referredAddresses(tokens: readonly Token[]): number {
  let length = 0;
  for (const token of tokensWithin(tokens))
    if ((token.type === "link" || token.type === "image") && !token.raw.endsWith(")")) length += token.href.length;
  return length;
}

function createTokenizer(): Tokenizer {
  const tokenizer = new Tokenizer();
  const heading = tokenizer.lheading.bind(tokenizer);
  tokenizer.lheading = (text) => heading(firstLines(text));
  return tokenizer;
}

function firstLines(text: string): string {
  let end = -1;
  for (let lines = 0; lines <= mostLinesOfHeading; lines += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) return text;
  }
  return text.slice(0, end + 1);
}

function mayFillMemory(text: string): boolean {
  const lines = text.split("\n");
  const columns = lines
    .filter((line) => line.includes("|") && /^[\s>|:\-*+\d.)]+$/.test(line))
    .reduce((most, rule) => Math.max(most, rule.split("|").length), 0);
  return columns * lines.length > maxCells;
}

/** No empty line for a long while. */
function isEndless(text: string): boolean {
  let together = 0;
  for (const line of text.split("\n")) {
    together = line.trim() === "" ? 0 : together + 1;
    if (together > mostLinesTogether) return true;
  }
  return false;
}

function asWritten(text: string): Token {
  return { type: asWrittenType, raw: text, text };
}
