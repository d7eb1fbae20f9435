/** The error numbers of each reason in the dialects of other systems, and the reasons that a number may mean there. */
import * as z from "zod";
import { type Reason, reasons } from "./errors.ts";
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

const columns = {
  zone: 0,
  "zone-strict": 1,
  a2a: 2,
  "a2a-0.3": 2,
  cleveragents: 3,
  vapora: 4,
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
  return rows[reason][5];
}

function cellOf({ reason, dialect }: { reason: Reason; dialect: Dialect }): A2aCell {
  return rows[reason][columns[dialect]];
}

/**
 * A2A's expression of a reason: a number, two numbers because a refused cancel has its own, or a state of the task. `code` beside a
 * state is our own number, for calls that have no task to answer with.
 */
export type A2aCell =
  | number
  | { onCancel: number; otherwise: number }
  | { state: Extract<TaskState, "failed" | "rejected" | "canceled">; code: number };

/** A reason without a row does not compile. */
type Row = readonly [
  zone: number,
  strict: number,
  a2a: A2aCell,
  cleverAgents: number,
  vapora: number,
  http: number,
];

/** Order matters: where reasons share a number, the first row is the guess. docs/reference/contract.md has the same table. */
// biome-ignore format: one row per reason
const rows = {
  //                             zone    strict  A2A (1.0 and 0.3)                        CleverAgents VAPORA HTTP
  parse_error:                  [-32700, -32700, -32700,                                     -32700, -32700, 400],
  invalid_request:              [-32600, -32600, -32600,                                     -32600, -32600, 400],
  method_not_found:             [-32601, -32601, -32601,                                     -32601, -32601, 404],
  invalid_params:               [-32602, -32602, -32602,                                     -32602, -32602, 400],
  internal:                     [-32603, -32603, -32603,                                     -32603, -32603, 500],
  timeout:                      [-32001, -32001, -32065,                                     -32603, -32603, 504],
  task_not_found:               [-32061, -32000, -32001,                                     -32001, -32000, 404],
  agent_not_found:              [-32062, -32000, -32602,                                     -32001, -32000, 404],
  invalid_state:                [-32063, -32000, { onCancel: -32002, otherwise: -32004 },    -32004, -32000, 409],
  execution_failed:             [-32064, -32000, { state: "failed", code: -32064 },          -32603, -32603, 500],
  unauthenticated:              [-32066, -32000, -32066,                                     -32002, -32000, 401],
  permission_denied:            [-32067, -32000, -32067,                                     -32003, -32000, 403],
  asker_unverified:             [-32078, -32000, -32078,                                     -32003, -32000, 403],
  already_exists:               [-32068, -32602, -32602,                                     -32005, -32000, 409],
  budget_exceeded:              [-32069, -32000, -32069,                                     -32006, -32603, 402],
  rate_limited:                 [-32070, -32000, -32070,                                     -32603, -32603, 429],
  unavailable:                  [-32071, -32000, -32603,                                     -32603, -32603, 503],
  session_ending:               [-32077, -32000, -32077,                                     -32603, -32603, 421],
  invalid_response:             [-32072, -32000, -32006,                                     -32603, -32603, 502],
  version_not_supported:        [-32073, -32000, -32009,                                     -32007, -32000, 400],
  plan_error:                   [-32074, -32000, { state: "rejected", code: -32074 },        -32008, -32603, 422],
  payload_too_large:            [-32075, -32602, -32602,                                     -32602, -32602, 413],
  canceled:                     [-32076, -32000, { state: "canceled", code: -32076 },        -32004, -32000, 409],
  unsupported_operation:        [-32601, -32601, -32004,                                     -32601, -32601, 400],
  content_type_not_supported:   [-32602, -32602, -32005,                                     -32602, -32602, 415],
  push_not_supported:           [-32601, -32601, -32003,                                     -32601, -32601, 400],
  extended_card_not_configured: [-32601, -32601, -32007,                                     -32601, -32601, 400],
  extension_required:           [-32602, -32602, -32008,                                     -32602, -32602, 400],
} as const satisfies Record<Reason, Row>;
