/** The word by which a person ends what a thread waits for. */

/** Alone in the message, in any case, with or without an end of sentence. */
export function isCancelWord(text: string): boolean {
  return /^(cancel|キャンセル|取り消し|中止)[.!。！]?$/i.test(text.trim());
}
