/** Formats the reports of a conformance run for a person, a program and a CI server. */
import { type CaseReport, isConformant, isFailure } from "./run-cases.ts";

type Report = { endpoint: string; reports: readonly CaseReport[] };

const indent = " ".repeat(10);

export function formatTextReport({ endpoint, reports }: Report): string {
  const { required, optional } = countReports(reports);
  const broken = reports.filter(isFailure);
  const conclusion = isConformant(reports)
    ? `${endpoint} passes every required case.`
    : `${endpoint} fails required cases: ${broken.map(({ name }) => name).join(", ")}.`;
  return [
    ...reports.map(formatCase),
    "",
    `required: ${required.passed} passed, ${required.failed} failed, ${required.skipped} skipped`,
    `optional: ${optional.passed} passed, ${optional.failed} not kept, ${optional.skipped} skipped`,
    conclusion,
  ].join("\n");
}

function formatCase({ name, level, outcome, expected, came }: CaseReport): string {
  const label = outcome !== "failed" ? outcome : level === "required" ? "FAILED" : "not kept";
  return [
    `${label.padEnd(indent.length)}${level}  ${name}`,
    `${indent}expected  ${expected}`,
    `${indent}${outcome === "skipped" ? "because   " : "came      "}${came}`,
  ].join("\n");
}

export type JsonReport = { endpoint: string; kept: boolean; count: Count; cases: readonly CaseReport[] };

export function formatJsonReport({ endpoint, reports }: Report): string {
  const report: JsonReport = { endpoint, kept: isConformant(reports), count: countReports(reports), cases: reports };
  return JSON.stringify(report, null, 2);
}

/**
 * Formats JUnit XML. A failed optional case is shown as skipped with the actual answer, because any other element of the format
 * would fail the build.
 */
export function formatJunitReport({ endpoint, reports }: Report): string {
  const { required, optional } = countReports(reports);
  const suite = {
    name: `sekisho conformance ${endpoint}`,
    tests: reports.length,
    failures: required.failed,
    errors: 0,
    skipped: required.skipped + optional.skipped + optional.failed,
    time: seconds(reports.reduce((sum, { durationMs }) => sum + durationMs, 0)),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite${attributes(suite)}>`,
    ...reports.map(formatTestCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function formatTestCase(report: CaseReport): string {
  const { name, level, outcome, expected, came, durationMs } = report;
  const [theme, about] = name.split("/", 2);
  const open = `    <testcase${attributes({ classname: `conformance.${theme}`, name: about, time: seconds(durationMs) })}`;
  if (outcome === "passed") return `${open}/>`;
  const why = outcome === "skipped" ? came : `${level}; expected ${expected}; came ${came}`;
  const element = isFailure(report) ? "failure" : "skipped";
  return `${open}>\n      <${element}${attributes({ message: why })}/>\n    </testcase>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join("");
}

/** Replaces characters that XML cannot hold, not even escaped (XML 1.0, sections 2.2 and 2.4). */
function escapeXml(text: string): string {
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
