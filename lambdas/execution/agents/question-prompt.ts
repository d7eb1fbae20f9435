/** The text of a question, with what the agent wrote before it asked. */
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";

/** The host takes 10,000 characters. */
const maxPromptLength = 9000;

/** The text before the question gives way to the question itself. */
export function joinPrompt({ text, prompt }: { text: string; prompt: string }): string {
  const shownPrompt = truncate(prompt, maxPromptLength);
  const shownText = truncate(text, maxPromptLength - shownPrompt.length);
  return isVisible(shownText) ? `${shownText}\n\n${shownPrompt}` : shownPrompt;
}
