/** Formats findings for a person or for a script. */
import type { CheckStatus, Found } from "./check.ts";

const marks: Record<CheckStatus, string> = { ok: "✓", warning: "!", failed: "✗", skipped: "–" };

/** One line per check under its group, with the remedy below it, and the summary last. */
export function formatDoctorText({
  found,
  subject,
}: {
  found: readonly Found[];
  subject: string;
}): string {
  const width = Math.max(0, ...found.map(({ name }) => name.length));
  const groups = [...new Set(found.map(({ group }) => group))];
  const blocks = groups.map((group) => {
    const lines = found
      .filter((one) => one.group === group)
      .flatMap((one) => linesOf({ one, width }));
    return [group, ...lines].join("\n");
  });
  return [`sekisho doctor: ${subject}`, ...blocks, summary(found)].join("\n\n");
}

export function formatDoctorJson(found: readonly Found[]): string {
  return JSON.stringify({ ok: isHealthy(found), checks: found }, null, 2);
}

export function isHealthy(found: readonly Found[]): boolean {
  return found.every(({ status }) => status !== "failed");
}

function linesOf({ one, width }: { one: Found; width: number }): string[] {
  const line = `  ${marks[one.status]} ${one.name.padEnd(width)}  ${one.what}`;
  return one.remedy === null ? [line] : [line, `${" ".repeat(width + 6)}→ ${one.remedy}`];
}

function summary(found: readonly Found[]): string {
  const count = (status: CheckStatus) => found.filter((one) => one.status === status).length;
  const warnings = `${count("warning")} ${count("warning") === 1 ? "warning" : "warnings"}`;
  const result = isHealthy(found) ? "Nothing failed" : "Something is wrong";
  return `${result}: ${count("ok")} ok, ${warnings}, ${count("failed")} failed, ${count("skipped")} skipped.`;
}
