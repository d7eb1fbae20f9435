/** The error numbers of each reason in the dialects of other systems, and the reasons that a number may mean there. */
import * as z from "zod";
import { type A2aCell, errorTable, type Reason, reasons } from "./errors.ts";
import type { TaskState } from "./methods.ts";

/** The configuration names the dialect of each peer. `zone-strict` is for peers that know only the contract's published numbers. */
export const dialectSchema = z.enum([
  "zone",
  "zone-strict",
  "a2a",
  "a2a-0.3",
  "cleveragents",
  "vapora",
]);
export type Dialect = z.infer<typeof dialectSchema>;

/** Where the row of a reason in `errorTable` has the expression of a dialect. */
const columns = {
  zone: 1,
  "zone-strict": 2,
  a2a: 3,
  "a2a-0.3": 3,
  cleveragents: 4,
  vapora: 5,
} as const satisfies Record<Dialect, number>;

/** All numbers of `reason` in a dialect: one, or two for A2A's `invalid_state`, because a refused cancel has its own. */
export function listErrorCodes({
  reason,
  dialect,
}: {
  reason: Reason;
  dialect: Dialect;
}): readonly number[] {
  const cell = cellOf({ reason, dialect });
  if (typeof cell === "number") return [cell];
  return "state" in cell ? [cell.code] : [cell.onCancel, cell.otherwise];
}

/** `target` is the state that an `invalid_state` refused. */
export function toErrorCode(request: {
  reason: Reason;
  dialect: Dialect;
  target?: string | undefined;
}): number {
  const { reason, dialect, target } = request;
  const cell = cellOf({ reason, dialect });
  if (typeof cell === "number") return cell;
  if ("state" in cell) return cell.code;
  return target === "canceled" ? cell.onCancel : cell.otherwise;
}

/** The reasons that a number may mean in a dialect, in the order of the table. */
export function listReasons({
  code,
  dialect,
}: {
  code: number;
  dialect: Dialect;
}): readonly Reason[] {
  return reasons.filter((reason) => listErrorCodes({ reason, dialect }).includes(code));
}

/** The reason that a dialect expresses as this state of a task instead of an error. */
export function findReasonOfState({
  state,
  dialect,
}: {
  state: TaskState;
  dialect: Dialect;
}): Reason | undefined {
  return reasons.find((reason) => {
    const cell = cellOf({ reason, dialect });
    return typeof cell === "object" && "state" in cell && cell.state === state;
  });
}

/** The HTTP status of a reason, for endpoints that answer errors with a status. */
export function toHttpStatus(reason: Reason): number {
  return errorTable[reason][6];
}

function cellOf({ reason, dialect }: { reason: Reason; dialect: Dialect }): A2aCell {
  return errorTable[reason][columns[dialect]];
}
