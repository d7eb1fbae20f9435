/** The words that a person may send to the bot itself: to cancel the tasks of a thread, and to get help. */
import type { Task } from "./task.ts";

/**
 * True if the message consists of the word that cancels the thread's tasks, in any case and width, with or without emphasis or a final
 * punctuation mark.
 */
export function isCancelWord(text: string): boolean {
  return /^(cancel|キャンセル|取り?消し?|中止)(\.{1,3}|[!。])?$/i.test(toPlainWord(text));
}

/** True if the message speaks to the bot and consists of the word for help. A reply without a mention may be for a person. */
export function asksForHelp({ text, files = [], unaddressed, botIds }: Task["message"]): boolean {
  if (unaddressed || botIds !== undefined || files.length > 0) return false;
  return /^(help|ヘルプ|使い方)[.!?。]?$/i.test(toPlainWord(text));
}

/** A longer text is not normalized, because that takes time quadratic in the number of combining marks. */
const maxWordLength = 60;

/** The text without emphasis, in one width. Returns "" for a text that is too long to be a word. */
function toPlainWord(text: string): string {
  const trimmedText = text.trim();
  if (trimmedText.length > maxWordLength) return "";
  return trimmedText
    .normalize("NFKC")
    .replace(/[*_~`]/g, "")
    .trim();
}
