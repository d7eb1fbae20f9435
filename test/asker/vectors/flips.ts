/** Every token that differs from a valid one by one bit. */
import { createVectorFile, type Vector } from "./vectors.ts";

export type Flip = { token: string; where: string };

/** The bits of the text, which a network might flip, and those of the bytes that each part stands for. */
export function* listFlips(token: string): Generator<Flip> {
  for (let at = 0; at < token.length; at += 1)
    for (let bit = 0; bit < 8; bit += 1) {
      const unit = String.fromCharCode(token.charCodeAt(at) ^ (1 << bit));
      yield {
        token: token.slice(0, at) + unit + token.slice(at + 1),
        where: `character ${at}, bit ${bit}`,
      };
    }
  const parts = token.split(".");
  for (const [index, part] of parts.entries()) {
    const bytes = Buffer.from(part, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const token = parts.with(index, flipped.toString("base64url")).join(".");
      yield { token, where: `part ${index}, bit ${bit}` };
    }
  }
}

/** A valid vector for each algorithm. */
export function pickValid(): Vector[] {
  const names = ["a token with RS256", "a token with ES256"];
  return createVectorFile().vectors.filter(({ name }) => names.includes(name));
}
