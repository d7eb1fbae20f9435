/** The tokens of Markdown with all that is in them. Pure. */
import type { Token, Tokens } from "marked";

/** In the order of the text; what is within a token comes after it. */
export function* tokensWithin(tokens: readonly Token[]): Generator<Token> {
  const waiting = [...tokens].reverse();
  for (let token = waiting.pop(); token !== undefined; token = waiting.pop()) {
    yield token;
    for (const child of childrenOf(token).toReversed()) waiting.push(child);
  }
}

export function childrenOf(token: Token): readonly Token[] {
  if (token.type === "list") return (token as Tokens.List).items;
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flat().flatMap((cell) => cell.tokens);
  }
  return "tokens" in token && Array.isArray(token.tokens) ? token.tokens : [];
}
