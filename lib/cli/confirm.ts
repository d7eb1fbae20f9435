/** Asks a person at the terminal to confirm. */
import { createInterface } from "node:readline/promises";

type Confirmation = { question: string; word: string; signal: AbortSignal };

/** True if the person types the word. False without a terminal, so that no script deletes by mistake. */
export async function confirm({ question, word, signal }: Confirmation): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(question, { signal })).trim() === word;
  } finally {
    lines.close();
  }
}
