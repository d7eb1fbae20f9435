/** The report as a person reads it. */
import { countReports } from "./count-reports.ts";
import { type CaseReport, isConformant } from "./run-cases.ts";

const indent = " ".repeat(10);

export function formatTextReport({ endpoint, reports }: { endpoint: string; reports: readonly CaseReport[] }): string {
  const { required, optional } = countReports(reports);
  const broken = reports.filter(({ level, outcome }) => level === "required" && outcome === "failed");
  const verdict = isConformant(reports)
    ? `${endpoint} keeps what is required of it.`
    : `${endpoint} does not keep: ${broken.map(({ name }) => name).join(", ")}.`;
  return [
    ...reports.map(linesOf),
    "",
    `required: ${required.passed} passed, ${required.failed} failed, ${required.skipped} skipped`,
    `optional: ${optional.passed} passed, ${optional.failed} not kept, ${optional.skipped} skipped`,
    verdict,
  ].join("\n");
}

function linesOf({ name, level, outcome, expected, came }: CaseReport): string {
  const second = outcome === "skipped" ? `because   ${came}` : `came      ${came}`;
  return [
    `${labelOf({ level, outcome }).padEnd(indent.length)}${level}  ${name}`,
    `${indent}expected  ${expected}`,
    `${indent}${second}`,
  ].join("\n");
}

function labelOf({ level, outcome }: Pick<CaseReport, "level" | "outcome">): string {
  if (outcome === "failed") return level === "required" ? "FAILED" : "not kept";
  return outcome;
}
