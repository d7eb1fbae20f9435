/** Bold text between Japanese, Chinese or Korean letters, where Markdown's rules for words with blanks around them fail. Pure. */

/** Markdown takes it for a blank; a reader hardly sees it. */
const hairSpace = "\u200A";
const bold = /(?<before>.?)\*\*(?<inner>[^*\s](?:[^*\n]{0,500}[^*\s])?)\*\*(?=(?<after>.?))/gsu;
const letter = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]/u;
const mark = /[\p{P}\p{S}]/u;

/**
 * `**「関所」**は` is not bold in Markdown (CommonMark 0.31, section 6.2): asterisks between a punctuation mark and a letter close
 * nothing. Models write that all the time.
 */
export function withCjkEmphasis(text: string): string {
  return text.replace(bold, (_, before: string, inner: string, after: string) => {
    const opens = letter.test(before) && mark.test([...inner][0] ?? "");
    const closes = letter.test(after) && mark.test([...inner].at(-1) ?? "");
    return `${before}${opens ? hairSpace : ""}**${inner}**${closes ? hairSpace : ""}`;
  });
}
