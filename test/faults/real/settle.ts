/** When everything has come to its end: each task is over and looked at once more, and no queue holds anything that matters. */
import { setTimeout as wait } from "node:timers/promises";
import type { Books } from "./books.ts";
import type { Message } from "./people.ts";

const lookEveryMs = 250;

/** Resolves when all has ended, or after `patienceMs` in which it has not: then what is left tells what went wrong. */
export async function settle({
  messages,
  books,
  patienceMs,
  signal,
  onDone,
}: {
  messages: readonly Message[];
  books: Books;
  patienceMs: number;
  signal: AbortSignal;
  onDone: (count: number) => void;
}): Promise<void> {
  const endMs = Date.now() + patienceMs;
  const ended = new Set<string>();
  for (;;) {
    const isQuiet = (await books.queued()).length === 0;
    for (const { requestId } of messages) {
      if (ended.has(requestId)) continue;
      const record = await books.record(requestId);
      // What no delivery brought has no record, and is waited for only as long as there is a message of it.
      if (record === undefined ? isQuiet : record.state === "done" && record.cleanupDone) ended.add(requestId);
    }
    onDone(ended.size);
    if ((isQuiet && ended.size === messages.length) || Date.now() > endMs) return;
    await wait(lookEveryMs, undefined, { signal });
  }
}
