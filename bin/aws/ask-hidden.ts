/** Asks for a secret on the terminal without showing what is typed. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Resolves to what was typed, or to undefined where the person ended the input (Ctrl-C, Ctrl-D) or the signal did. */
export async function askHidden({
  question,
  signal,
  input = process.stdin,
  show = (text) => process.stderr.write(text),
}: {
  question: string;
  signal: AbortSignal;
  input?: NodeJS.ReadableStream;
  show?: (text: string) => void;
}): Promise<string | undefined> {
  // The terminal's own echo is off while readline reads, and what readline would show goes nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  const ended = new AbortController();
  lines.once("SIGINT", () => ended.abort()).once("close", () => ended.abort());
  show(question);
  try {
    return await lines.question("", { signal: AbortSignal.any([signal, ended.signal]) });
  } catch {
    return undefined;
  } finally {
    lines.close();
    show("\n");
  }
}
