/** The days that a person asks about: UTC, both ends included. */

import { UsageError } from "../../../bin/commands/command.ts";
import { formatDay } from "../../../lambdas/verification/usage/entry.ts";

const dayMs = 24 * 3600_000;
const daysByDefault = 30;
/** As long as the usage history can be kept. */
const mostDays = 3660;

/** The days from the first to the last, in their order; without words, the last thirty with today. */
export function listDays({
  from,
  to,
  nowMs,
}: {
  from?: string | undefined;
  to?: string | undefined;
  nowMs: number;
}): string[] {
  const lastMs = to === undefined ? startOf(formatDay(nowMs), "--to") : startOf(to, "--to");
  const firstMs = from === undefined ? lastMs - (daysByDefault - 1) * dayMs : startOf(from, "--from");
  const count = Math.round((lastMs - firstMs) / dayMs) + 1;
  if (count < 1) throw new UsageError(`--from ${formatDay(firstMs)} is after --to ${formatDay(lastMs)}.`);
  if (count > mostDays) throw new UsageError(`${count} days are more than are ever kept: at most ${mostDays}.`);
  return Array.from({ length: count }, (_, number) => formatDay(firstMs + number * dayMs));
}

function startOf(day: string, option: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // JavaScript takes the 31st of February for a day of March.
  if (Number.isNaN(ms) || formatDay(ms) !== day)
    throw new UsageError(`${option} is a day such as 2026-11-30, not "${day}".`);
  return ms;
}
