/** What was found, for a person's eyes or for a script. */
import type { CheckStatus } from "./check.ts";
import type { Found } from "./run-checks.ts";

const marks: Record<CheckStatus, string> = { ok: "✓", warning: "!", failed: "✗", skipped: "–" };

/** One line for each check, below its group; what to do stands below it, the summary last. */
export function formatDoctorText({ found, subject }: { found: readonly Found[]; subject: string }): string {
  const width = Math.max(0, ...found.map(({ name }) => name.length));
  const groups = [...new Set(found.map(({ group }) => group))];
  const blocks = groups.map((group) => {
    const lines = found.filter((one) => one.group === group).flatMap((one) => linesOf({ one, width }));
    return [group, ...lines].join("\n");
  });
  return [`sekisho doctor: ${subject}`, ...blocks, summary(found)].join("\n\n");
}

/** `remedy` is null where nothing has to be done. */
export function formatDoctorJson(found: readonly Found[]): string {
  const checks = found.map(({ group, name, status, what, ...rest }) => {
    return { group, name, status, what, remedy: "remedy" in rest ? rest.remedy : null };
  });
  return JSON.stringify({ ok: isHealthy(found), checks }, null, 2);
}

export function isHealthy(found: readonly Found[]): boolean {
  return found.every(({ status }) => status !== "failed");
}

function linesOf({ one, width }: { one: Found; width: number }): string[] {
  const line = `  ${marks[one.status]} ${one.name.padEnd(width)}  ${one.what}`;
  return "remedy" in one ? [line, `${" ".repeat(width + 6)}→ ${one.remedy}`] : [line];
}

function summary(found: readonly Found[]): string {
  const count = (status: CheckStatus) => found.filter((one) => one.status === status).length;
  const counts = [
    `${count("ok")} ok`,
    `${count("warning")} ${count("warning") === 1 ? "warning" : "warnings"}`,
    `${count("failed")} failed`,
    `${count("skipped")} skipped`,
  ];
  return `${isHealthy(found) ? "Nothing failed" : "Something is wrong"}: ${counts.join(", ")}.`;
}
