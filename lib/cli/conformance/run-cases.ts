/** Runs the cases one after the other, and reports how each ended. */
import { setTimeout as delay } from "node:timers/promises";
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable, type Texts } from "./case.ts";
import { acceptedCases, cancelCases, completedTaskCases, questionCases, taskCases } from "./cases/accepted.ts";
import { authenticationCases, discoverCases, headerCases } from "./cases/callers.ts";
import { envelopeCases, errorCases, internalsCase, limitCases } from "./cases/envelope.ts";
import { executeCases, idempotencyCases } from "./cases/execute.ts";
import type { PeerUnderTest } from "./peer.ts";
import { createSlowTasks } from "./run-task.ts";

/** All cases in the order in which they run. Those that need a task under way run soon after it was accepted. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...executeCases,
  ...envelopeCases,
  ...errorCases,
  ...limitCases,
  ...headerCases,
  ...authenticationCases,
  ...taskCases,
  ...questionCases,
  ...discoverCases,
  ...acceptedCases,
  ...cancelCases,
  ...idempotencyCases,
  ...completedTaskCases,
  internalsCase,
];

export type CaseReport = {
  name: string;
  level: "required" | "optional";
  outcome: "passed" | "failed" | "skipped";
  expected: string;
  /** For a skipped case: why. */
  came: string;
  durationMs: number;
};

type CasesOptions = {
  peer: PeerUnderTest;
  texts: Texts;
  cases?: readonly ConformanceCase[];
  /** True if the peer is declared to deduplicate by request id. */
  isIdempotent: boolean;
  interrupt: AbortSignal;
  timeOver: AbortSignal;
  now?: () => number;
  onCase?: (name: string) => void;
};

/**
 * Rejects only when the command is interrupted. Once `timeOver` aborts, the remaining cases fail, because nothing proves that
 * the peer keeps them.
 */
export async function runCases({
  peer,
  texts,
  cases = conformanceCases,
  isIdempotent,
  interrupt,
  timeOver,
  now = () => performance.now(),
  onCase = () => {},
}: CasesOptions): Promise<CaseReport[]> {
  const signal = AbortSignal.any([interrupt, timeOver]);
  const sleep = (ms: number) => delay(ms, undefined, { signal });
  const run = { peer, texts, slowTasks: createSlowTasks(peer, texts.slow), now, sleep };
  const reports: CaseReport[] = [];
  for (const one of cases) {
    const { name, expects: expected } = one;
    onCase(name);
    const startedAtMs = now();
    const ended = await runCase(one, run, timeOver);
    interrupt.throwIfAborted();
    const level = one.level === "idempotent" ? (isIdempotent ? "required" : "optional") : one.level;
    reports.push({ name, level, expected, ...ended, durationMs: now() - startedAtMs });
  }
  return reports;
}

async function runCase(
  one: ConformanceCase,
  run: CaseRun,
  timeOver: AbortSignal,
): Promise<Pick<CaseReport, "outcome" | "came">> {
  try {
    return { outcome: "passed", came: await one.check(run) };
  } catch (thrown) {
    if (thrown instanceof Deviation) return { outcome: "failed", came: thrown.message };
    if (thrown instanceof NotApplicable) return { outcome: "skipped", came: thrown.message };
    // The end of the time or an interrupt is expected here. Anything else is a defect of the case.
    if (timeOver.aborted) return { outcome: "failed", came: "the time for all cases was over" };
    throw thrown;
  }
}

/** True if the peer keeps everything that is required of it. */
export function isConformant(reports: readonly CaseReport[]): boolean {
  return !reports.some(isFailure);
}

export function isFailure({ level, outcome }: Pick<CaseReport, "level" | "outcome">): boolean {
  return level === "required" && outcome === "failed";
}
