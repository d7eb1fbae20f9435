/** Formats the report of a conformance run for a person, a program and a CI server. */
import type { ConformanceCase } from "./case.ts";
import { type CaseReport, type ConformanceReport, isFailure, type Level } from "./conformance.ts";

/** `endpoint` is how the person called it. */
export type NamedReport = ConformanceReport & { endpoint: string };

const width = 10;
const indent = " ".repeat(width);

/** Failures come first: those that fail the run, then the rest. `onlyFailures` leaves out everything else. */
export function formatTextReport(report: NamedReport, { onlyFailures = false } = {}): string {
  const { cases, level, endpoint, durationMs, waitedMs } = report;
  const rank = (one: CaseReport) => (isFailure(one, level) ? 0 : one.outcome === "failed" ? 1 : 2);
  const shownCases = cases.filter(({ outcome }) => !onlyFailures || outcome === "failed");
  const sortedCases = [...shownCases].sort((one, other) => rank(one) - rank(other));
  const { required, strict, leak } = countCases(cases);
  const waitText =
    waitedMs < 1000 ? "" : `, of which ${seconds(waitedMs)} s were the wait for the second look`;
  return [
    ...sortedCases.map((one) => formatCase(one, level)),
    ...(sortedCases.length > 0 ? [""] : []),
    `required: ${formatCount(required)}`,
    `strict: ${formatCount(strict)}${level === "strict" ? "" : " (they count with --level strict)"}`,
    `leaks: ${formatCount(leak)}`,
    ...formatSkipped(cases),
    `${cases.length} cases in ${seconds(durationMs)} s${waitText}.`,
    formatConclusion({ cases, level, endpoint }),
  ].join("\n");
}

/** The catalogue of cases, without a run: one line per case. */
export function formatCaseList(cases: readonly ConformanceCase[]): string {
  return cases
    .map(({ name, level, section, expects }) => `${name} (${level}, ${section}): ${expects}`)
    .join("\n");
}

function formatConclusion({
  cases,
  level,
  endpoint,
}: Pick<NamedReport, "cases" | "level" | "endpoint">): string {
  const brokenCases = cases.filter((one) => isFailure(one, level));
  const names = brokenCases.map(({ name }) => name).join(", ");
  if (brokenCases.length === 0) {
    const { length } = cases.filter(({ outcome }) => outcome === "skipped");
    const skipText = length === 1 ? "1 case was skipped." : `${length} cases were skipped.`;
    return `${endpoint} passes every ${level} case${length === 0 ? "." : ` that was tried. ${skipText}`}`;
  }
  const leaks = brokenCases.some((one) => one.level === "leak")
    ? " It leaks what must stay inside."
    : "";
  return `${endpoint} fails ${level} cases: ${names}.${leaks}`;
}

/** Lists each reason once, the most frequent first, because a skipped case has not passed. */
function formatSkipped(cases: readonly CaseReport[]): string[] {
  const reasons = cases.filter(({ outcome }) => outcome === "skipped").map(({ came }) => came);
  if (reasons.length === 0) return [];
  const counts = [...new Set(reasons)].map((reason) => ({
    reason,
    count: reasons.filter((other) => other === reason).length,
  }));
  counts.sort((one, other) => other.count - one.count);
  return [
    "skipped, because:",
    ...counts.map(({ reason, count }) => `${String(count).padStart(5)}  ${reason}`),
  ];
}

function formatCount({ passed, failed, skipped }: Record<CaseReport["outcome"], number>): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

function formatCase(report: CaseReport, level: Level): string {
  const { name, level: own, outcome, expected, came, step, sent, contract, advice } = report;
  const label = outcome !== "failed" ? outcome : isFailure(report, level) ? "FAILED" : "not kept";
  const lines: [string, string | undefined][] = [
    ["expected", expected],
    ["step", step],
    ["sent", sent],
    [outcome === "skipped" ? "because" : "came", came],
    ["contract", contract],
    ["do", advice],
  ];
  const rows = lines.flatMap(([what, text]) =>
    text === undefined ? [] : [`${indent}${what.padEnd(width)}${text}`],
  );
  return [`${label.padEnd(width)}${own.padEnd(width)}${name}`, ...rows].join("\n");
}

export type JsonReport = Pick<NamedReport, "endpoint" | "level" | "profile" | "kept" | "cases"> & {
  count: Count;
};

export function formatJsonReport(report: NamedReport, { onlyFailures = false } = {}): string {
  const { endpoint, level, profile, kept, cases } = report;
  const shownCases = onlyFailures ? cases.filter(({ outcome }) => outcome === "failed") : cases;
  const json: JsonReport = {
    endpoint,
    level,
    profile,
    kept,
    count: countCases(cases),
    cases: shownCases,
  };
  return JSON.stringify(json, null, 2);
}

/**
 * Formats JUnit XML. A failed case that does not count is shown as skipped with the actual answer, because any other element of the
 * format would fail the build.
 */
export function formatJunitReport({ endpoint, level, cases, durationMs }: NamedReport): string {
  const failures = cases.filter((one) => isFailure(one, level)).length;
  const suite = {
    name: `sekisho conformance ${endpoint}`,
    tests: cases.length,
    failures,
    errors: 0,
    skipped: cases.filter(({ outcome }) => outcome !== "passed").length - failures,
    time: seconds(durationMs),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite${attributes(suite)}>`,
    ...cases.map((one) => formatTestCase(one, level)),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function formatTestCase(report: CaseReport, level: Level): string {
  const { name, level: own, outcome, expected, came, step, advice, durationMs } = report;
  const [theme, about] = name.split("/", 2);
  const open = `    <testcase${attributes({ classname: `conformance.${theme}`, name: about, time: seconds(durationMs) })}`;
  if (outcome === "passed") return `${open}/>`;
  const steps = step === undefined ? "" : `; step ${step}`;
  const why =
    outcome === "skipped"
      ? came
      : `${own}; expected ${expected}${steps}; came ${came}; do: ${advice}`;
  const element = isFailure(report, level) ? "failure" : "skipped";
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
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
  };
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replace(/[&<>"]/g, (character) => entities[character] ?? character)
    .replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}

type Count = Record<CaseReport["level"], Record<CaseReport["outcome"], number>>;

function countCases(cases: readonly CaseReport[]): Count {
  const none = () => ({ passed: 0, failed: 0, skipped: 0 });
  const count: Count = { required: none(), strict: none(), leak: none() };
  for (const { level, outcome } of cases) count[level][outcome] += 1;
  return count;
}
