/** The word by which a person ends what a thread waits for. */

/** Alone in the message, in any case and width, with or without emphasis or an end of sentence. */
export function isCancelWord(text: string): boolean {
  const plain = text
    .normalize("NFKC")
    .replace(/[*_~`]/g, "")
    .trim();
  return /^(cancel|キャンセル|取り?消し?|中止)(\.{1,3}|[!。])?$/i.test(plain);
}
