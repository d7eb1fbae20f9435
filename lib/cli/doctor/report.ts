/** Formats findings for a person or for a script. */
import type { CheckStatus, Found } from "./check.ts";

const marks: Record<CheckStatus, string> = { ok: "✓", warning: "!", failed: "✗", skipped: "–" };

/** One line per check under its group, with the remedy below it, and the summary last. */
export function formatDoctorText({
  results,
  subject,
}: {
  results: readonly Found[];
  subject: string;
}): string {
  const width = Math.max(0, ...results.map(({ name }) => name.length));
  const groups = [...new Set(results.map(({ group }) => group))];
  const blocks = groups.map((group) => {
    const lines = results
      .filter((one) => one.group === group)
      .flatMap((one) => linesOf({ one, width }));
    return [group, ...lines].join("\n");
  });
  return [`sekisho doctor: ${subject}`, ...blocks, summary(results)].join("\n\n");
}

export function formatDoctorJson(results: readonly Found[]): string {
  return JSON.stringify({ ok: isHealthy(results), checks: results }, null, 2);
}

export function isHealthy(results: readonly Found[]): boolean {
  return results.every(({ status }) => status !== "failed");
}

function linesOf({ one, width }: { one: Found; width: number }): string[] {
  const line = `  ${marks[one.status]} ${one.name.padEnd(width)}  ${one.what}`;
  return one.remedy === null ? [line] : [line, `${" ".repeat(width + 6)}→ ${one.remedy}`];
}

function summary(results: readonly Found[]): string {
  const count = (status: CheckStatus) => results.filter((one) => one.status === status).length;
  const warnings = `${count("warning")} ${count("warning") === 1 ? "warning" : "warnings"}`;
  const result = isHealthy(results) ? "Nothing failed" : "Something is wrong";
  return `${result}: ${count("ok")} ok, ${warnings}, ${count("failed")} failed, ${count("skipped")} skipped.`;
}
