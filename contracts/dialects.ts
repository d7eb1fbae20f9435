/** Dialects: what a reason is called by the peers that Sekisho talks to, and which reasons a number may mean there. */
import * as z from "zod";
import { type A2aCell, rows } from "./dialect-table.ts";
import { type Reason, reasons } from "./errors.ts";
import type { TaskState } from "./task.ts";

/** A dialect belongs to the peer, by configuration. `zone-strict` knows only the published codes of the zone contract. */
export const dialectSchema = z.enum(["zone", "zone-strict", "a2a", "a2a-0.3", "cleveragents", "vapora"]);
export type Dialect = z.infer<typeof dialectSchema>;

const columns = {
  zone: 0,
  "zone-strict": 1,
  a2a: 2,
  "a2a-0.3": 2,
  cleveragents: 3,
  vapora: 4,
} as const satisfies Record<Dialect, number>;

/** All numbers that `reason` may have in a dialect: one, or two for A2A's `invalid_state` (a refused cancel has its own). */
export function codesOf({ reason, dialect }: { reason: Reason; dialect: Dialect }): readonly number[] {
  const cell = cellOf({ reason, dialect });
  if (typeof cell === "number") return [cell];
  return "state" in cell ? [cell.code] : [cell.onCancel, cell.otherwise];
}

/** The number of `reason`; `target` is the state that an `invalid_state` refused to go to. */
export function codeOf({
  reason,
  dialect,
  target,
}: {
  reason: Reason;
  dialect: Dialect;
  target?: string | undefined;
}): number {
  const cell = cellOf({ reason, dialect });
  if (typeof cell === "number") return cell;
  if ("state" in cell) return cell.code;
  return target === "canceled" ? cell.onCancel : cell.otherwise;
}

/** The reasons that a number may mean in a dialect, in the order of the table; none for a number that it does not know. */
export function reasonsOf({ code, dialect }: { code: number; dialect: Dialect }): readonly Reason[] {
  return reasons.filter((reason) => codesOf({ reason, dialect }).includes(code));
}

/** The reason that a dialect tells by the state of a task instead of an error, if it has one for that state. */
export function reasonOfState({ state, dialect }: { state: TaskState; dialect: Dialect }): Reason | undefined {
  return reasons.find((reason) => {
    const cell = cellOf({ reason, dialect });
    return typeof cell === "object" && "state" in cell && cell.state === state;
  });
}

/** The HTTP status that belongs to a reason where an endpoint answers errors with one. */
export function httpStatusOf(reason: Reason): number {
  return rows[reason][5];
}

function cellOf({ reason, dialect }: { reason: Reason; dialect: Dialect }): A2aCell {
  return rows[reason][columns[dialect]];
}
