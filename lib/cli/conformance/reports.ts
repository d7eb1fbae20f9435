/** The reports of a conformance run: as a person, a program and a CI server read them. */
import { type CaseReport, isConformant } from "./run-cases.ts";

const indent = " ".repeat(10);

/** As a person reads it. */
export function formatTextReport({ endpoint, reports }: { endpoint: string; reports: readonly CaseReport[] }): string {
  const { required, optional } = countReports(reports);
  const broken = reports.filter(({ level, outcome }) => level === "required" && outcome === "failed");
  const conclusion = isConformant(reports)
    ? `${endpoint} keeps what is required of it.`
    : `${endpoint} does not keep: ${broken.map(({ name }) => name).join(", ")}.`;
  return [
    ...reports.map(linesOf),
    "",
    `required: ${required.passed} passed, ${required.failed} failed, ${required.skipped} skipped`,
    `optional: ${optional.passed} passed, ${optional.failed} not kept, ${optional.skipped} skipped`,
    conclusion,
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

export type JsonReport = { endpoint: string; kept: boolean; count: Count; cases: readonly CaseReport[] };

/** As a program reads it. */
export function formatJsonReport({ endpoint, reports }: { endpoint: string; reports: readonly CaseReport[] }): string {
  const report: JsonReport = { endpoint, kept: isConformant(reports), count: countReports(reports), cases: reports };
  return JSON.stringify(report, null, 2);
}

/**
 * As CI servers read it (JUnit XML). An optional case that is not kept is shown as skipped, with what came: the
 * format knows no other way to say it without failing the build.
 */
export function formatJunitReport({ endpoint, reports }: { endpoint: string; reports: readonly CaseReport[] }): string {
  const failures = reports.filter(isFailure).length;
  const passed = reports.filter(({ outcome }) => outcome === "passed").length;
  const suite = {
    name: `sekisho conformance ${endpoint}`,
    tests: reports.length,
    failures,
    errors: 0,
    skipped: reports.length - failures - passed,
    time: seconds(reports.reduce((sum, { durationMs }) => sum + durationMs, 0)),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite${attributes(suite)}>`,
    ...reports.map(testCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function testCase(report: CaseReport): string {
  const { name, level, outcome, expected, came, durationMs } = report;
  const [theme, about] = name.split("/", 2);
  const open = `    <testcase${attributes({ classname: `conformance.${theme}`, name: about, time: seconds(durationMs) })}`;
  if (outcome === "passed") return `${open}/>`;
  const why = outcome === "skipped" ? came : `${level}; expected ${expected}; came ${came}`;
  const element = isFailure(report) ? "failure" : "skipped";
  return `${open}>\n      <${element}${attributes({ message: why })}/>\n    </testcase>`;
}

function isFailure({ level, outcome }: CaseReport): boolean {
  return level === "required" && outcome === "failed";
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join("");
}

/** XML 1.0, sections 2.2 and 2.4: some characters cannot be said at all, not even escaped. */
function escaped(text: string): string {
  const named: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replace(/[&<>"]/g, (character) => named[character] ?? character)
    .replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}

type Count = Record<CaseReport["level"], Record<CaseReport["outcome"], number>>;

function countReports(reports: readonly CaseReport[]): Count {
  const count: Count = {
    required: { passed: 0, failed: 0, skipped: 0 },
    optional: { passed: 0, failed: 0, skipped: 0 },
  };
  for (const { level, outcome } of reports) count[level][outcome] += 1;
  return count;
}
