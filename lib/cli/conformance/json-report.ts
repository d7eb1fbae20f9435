/** The report as a program reads it. */
import { type Count, countOf } from "./count.ts";
import { type CaseReport, isKept } from "./run-cases.ts";

export type JsonReport = { endpoint: string; kept: boolean; count: Count; cases: readonly CaseReport[] };

export function jsonReport({ endpoint, reports }: { endpoint: string; reports: readonly CaseReport[] }): string {
  const report: JsonReport = { endpoint, kept: isKept(reports), count: countOf(reports), cases: reports };
  return JSON.stringify(report, null, 2);
}
