/** The result of a smoke test, for a person or for a script. */
import type { AssumptionCheck } from "./assumptions.ts";
import type { SmokeCheck } from "./checks.ts";

export type SmokeReport = { ok: boolean; checks: SmokeCheck[]; assumptions: AssumptionCheck[] };

export function formatSmokeReport(
  { ok, checks, assumptions }: SmokeReport,
  stageName: string,
): string {
  const lines = checks.map(
    (check) => `  ${check.ok ? "✓" : "✗"} ${check.name}\n      ${check.what}`,
  );
  const points = assumptions.flatMap(({ point, assumed, observed, differs, todo }) => [
    `  ${differs === undefined ? "–" : differs ? "✗" : "✓"} ${point}`,
    `      assumed:  ${assumed}`,
    `      observed: ${observed}`,
    ...(todo === "" ? [] : [`      to do:    ${todo}`]),
  ]);
  return [
    `sekisho smoke: stage ${stageName}`,
    ["What was tried", ...lines].join("\n"),
    ["What was assumed, and what was observed", ...points].join("\n"),
    ok ? "The stage works as assumed." : "Something is wrong, or is not as assumed.",
  ].join("\n\n");
}
