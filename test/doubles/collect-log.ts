/** A log that keeps its lines as text. */
import { createLog, type Log } from "../../lambdas/shared/log.ts";

type Options = Partial<Parameters<typeof createLog>[0]>;

export function collectLog(options: Options = {}): { lines: string[]; log: Log } {
  const lines: string[] = [];
  return { lines, log: createLog({ service: "execution", write: (line) => void lines.push(line), ...options }) };
}
