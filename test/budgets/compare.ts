/** Compares measured figures with their budgets. */
import type { Figures } from "./measured.ts";

/** How far a figure may be above its budget, and how far below it before the budget must follow. */
const exactTolerance = 0.03;
const allocationTolerance = 0.1;
const ratchet = 0.1;

/**
 * Lists the figures that exceed their budget, are far below it, or have no counterpart. Each has its path, such as
 * `tasks/calls/polled, aws/slack.post`.
 */
export function listDifferences(budgets: Figures, measured: Figures, path = ""): string[] {
  const names = [...new Set([...Object.keys(budgets), ...Object.keys(measured)])];
  return names.flatMap((name) => {
    const [budget, figure] = [budgets[name], measured[name]];
    const where = `${path}${name}`;
    if (typeof budget === "object" && typeof figure === "object")
      return listDifferences(budget, figure, `${where}/`);
    if (typeof budget !== "number") return [`${where} has no budget`];
    if (typeof figure !== "number") return [`${where} was not measured`];
    return compare(where, budget, figure);
  });
}

function compare(where: string, budget: number, figure: number): string[] {
  const tolerance = where.endsWith("kilobytes") ? allocationTolerance : exactTolerance;
  if (figure > budget * (1 + tolerance))
    return [`${where}: ${figure}, where ${budget} is the budget`];
  if (figure < budget * (1 - ratchet))
    return [`${where}: ${figure} is less than the budget of ${budget}: lower it`];
  return [];
}
