/** Runs the cases one after the other, and says of each how it ended. */
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable } from "./case.ts";
import { conformanceCases } from "./cases.ts";

export type CaseReport = {
  name: string;
  level: "required" | "optional";
  outcome: "passed" | "failed" | "skipped";
  expected: string;
  /** For a skipped case: why. */
  came: string;
  durationMs: number;
};

/**
 * Rejects only when the command is interrupted. Where `timeOver` aborts, the cases that are left fail if they are
 * required: nothing is proven of them.
 */
export async function runCases({
  run,
  cases = conformanceCases,
  isIdempotent,
  interrupt,
  timeOver,
  onCase = () => {},
}: {
  run: CaseRun;
  cases?: readonly ConformanceCase[];
  /** Whether the peer is declared to deduplicate by request id. */
  isIdempotent: boolean;
  interrupt: AbortSignal;
  timeOver: AbortSignal;
  onCase?: (name: string) => void;
}): Promise<CaseReport[]> {
  const reports: CaseReport[] = [];
  for (const one of cases) {
    onCase(one.name);
    const startedAtMs = run.now();
    const ended = await outcomeOf({ one, run, timeOver });
    interrupt.throwIfAborted();
    const level = one.level === "idempotent" ? (isIdempotent ? "required" : "optional") : one.level;
    const durationMs = run.now() - startedAtMs;
    reports.push({ name: one.name, level, expected: one.expects, ...ended, durationMs });
  }
  return reports;
}

async function outcomeOf({
  one,
  run,
  timeOver,
}: {
  one: ConformanceCase;
  run: CaseRun;
  timeOver: AbortSignal;
}): Promise<Pick<CaseReport, "outcome" | "came">> {
  try {
    return { outcome: "passed", came: await one.check(run) };
  } catch (thrown) {
    if (thrown instanceof Deviation) return { outcome: "failed", came: thrown.message };
    if (thrown instanceof NotApplicable) return { outcome: "skipped", came: thrown.message };
    // What the signal of the whole run or of the person ends; anything else is a defect of the case.
    if (timeOver.aborted) return { outcome: "failed", came: "the time for all cases was over" };
    throw thrown;
  }
}

/** Whether the peer keeps everything that is required of it. */
export function isConformant(reports: readonly CaseReport[]): boolean {
  return !reports.some(({ level, outcome }) => level === "required" && outcome === "failed");
}
