/** A log whose lines are kept, as they are written and as what they say. */
import { createLog, type Log, type LogLevel } from "../../lambdas/shared/log.ts";

export type KeptLog = { log: Log; lines: string[]; entries(): Record<string, unknown>[] };

export function keptLog({ level }: { level?: LogLevel } = {}): KeptLog {
  const lines: string[] = [];
  const log = createLog({ service: "verification", ...(level && { level }), write: (line) => lines.push(line) });
  return { log, lines, entries: () => lines.map((line) => JSON.parse(line)) };
}
