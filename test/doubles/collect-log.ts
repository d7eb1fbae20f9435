/** A log that keeps its lines, as they are written and parsed. */
import { createLog, type Log } from "@sekisho/runtime/log.ts";

export type CollectedLog = { log: Log; lines: string[]; entries(): Record<string, unknown>[] };

export function collectLog(options: Partial<Parameters<typeof createLog>[0]> = {}): CollectedLog {
  const lines: string[] = [];
  const log = createLog({
    service: "verification",
    write: (line) => void lines.push(line),
    ...options,
  });
  return { log, lines, entries: () => lines.map((line) => JSON.parse(line)) };
}
