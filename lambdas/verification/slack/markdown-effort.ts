/** How much work the text of one paragraph would be for the parser of Markdown, and how much is left. Pure. */

/** What makes the parser look through the rest of the paragraph. */
const openings = /[*_~`[\]<!&]/g;
/** In each of these it looks for an address of mail from every character on. */
const longWords = /[\w.!#$%&'*+/=?`{|}~-]{200,}/g;

const maxOfParagraph = 2_000_000;
const maxOfText = 4_000_000;
const maxForEachCharacter = 60;

export type Effort = {
  /** Whether there is enough left for the paragraph. */
  take(paragraph: string): boolean;
  /** Whether the addresses that are repeated by reference leave the whole of a length like the text's. */
  takeAddresses(length: number): boolean;
};

export function createEffort(text: string): Effort {
  let left = maxOfText + text.length * maxForEachCharacter;
  let addressesLeft = text.length + 10_000;
  return {
    take(paragraph) {
      const needed = stepsFor(paragraph);
      if (needed > Math.min(left, maxOfParagraph)) return false;
      left -= needed;
      return true;
    },
    takeAddresses(length) {
      if (length > addressesLeft) return false;
      addressesLeft -= length;
      return true;
    },
  };
}

function stepsFor(paragraph: string): number {
  const count = paragraph.match(openings)?.length ?? 0;
  const words = paragraph.match(longWords) ?? [];
  return paragraph.length * count + words.reduce((steps, { length }) => steps + (length * length) / 4, 0);
}
