/** How many cases ended how. */
import type { CaseReport } from "./run-cases.ts";

export type Count = Record<CaseReport["level"], Record<CaseReport["outcome"], number>>;

export function countReports(reports: readonly CaseReport[]): Count {
  const count: Count = {
    required: { passed: 0, failed: 0, skipped: 0 },
    optional: { passed: 0, failed: 0, skipped: 0 },
  };
  for (const { level, outcome } of reports) count[level][outcome] += 1;
  return count;
}
