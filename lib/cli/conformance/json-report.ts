/** The report as a program reads it. */
import { type Count, countReports } from "./count-reports.ts";
import { type CaseReport, isConformant } from "./run-cases.ts";

export type JsonReport = { endpoint: string; kept: boolean; count: Count; cases: readonly CaseReport[] };

export function formatJsonReport({ endpoint, reports }: { endpoint: string; reports: readonly CaseReport[] }): string {
  const report: JsonReport = { endpoint, kept: isConformant(reports), count: countReports(reports), cases: reports };
  return JSON.stringify(report, null, 2);
}
