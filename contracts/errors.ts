/** The closed list of reasons with their properties, and the one error class. Needs no zod, so that the ingress stays small. */

/**
 * A2A's expression of a reason: a number, two numbers because a refused cancel has its own, or a state of the task. `code` beside a
 * state is our own number, for calls that have no task to answer with.
 */
export type A2aCell =
  | number
  | { onCancel: number; otherwise: number }
  | { state: "failed" | "rejected" | "canceled"; code: number };

type Row = readonly [
  after: "retry" | "end" | "none",
  zone: number,
  strict: number,
  a2a: A2aCell,
  cleverAgents: number,
  vapora: number,
  http: number,
  message: string,
];

/**
 * Every reason that can be on the wire, with all that the code knows of it except the texts for people, which only the bundle of the
 * worker carries. After `retry`, the same request may be sent again with the same id; `end` ends the task itself. Order matters: where
 * reasons share a number, the first row is the guess. docs/reference/contract.md has the same table.
 */
// biome-ignore format: one row per reason
export const errorTable = {
  //                             after    zone    strict  A2A (1.0 and 0.3)                        CleverAgents VAPORA HTTP message
  parse_error:                  ["none",  -32700, -32700, -32700,                                   -32700, -32700, 400, "The request is not valid JSON."],
  invalid_request:              ["none",  -32600, -32600, -32600,                                   -32600, -32600, 400, "The body is not a JSON-RPC 2.0 Request object."],
  method_not_found:             ["none",  -32601, -32601, -32601,                                   -32601, -32601, 404, "There is no such method."],
  invalid_params:               ["none",  -32602, -32602, -32602,                                   -32602, -32602, 400, "The params do not fit the method."],
  internal:                     ["none",  -32603, -32603, -32603,                                   -32603, -32603, 500, "Something unexpected went wrong."],
  timeout:                      ["end",   -32001, -32001, -32065,                                   -32603, -32603, 504, "The task took longer than it was given."],
  task_not_found:               ["none",  -32061, -32000, -32001,                                   -32001, -32000, 404, "The task was not found. It was never known, or has expired."],
  agent_not_found:              ["none",  -32062, -32000, -32602,                                   -32001, -32000, 404, "There is no such agent."],
  invalid_state:                ["none",  -32063, -32000, { onCancel: -32002, otherwise: -32004 },  -32004, -32000, 409, "The task's state does not allow that."],
  execution_failed:             ["end",   -32064, -32000, { state: "failed", code: -32064 },        -32603, -32603, 500, "The agent ran and failed."],
  unauthenticated:              ["none",  -32066, -32000, -32066,                                   -32002, -32000, 401, "The caller could not be authenticated."],
  permission_denied:            ["none",  -32067, -32000, -32067,                                   -32003, -32000, 403, "The caller may not do that."],
  asker_unverified:             ["none",  -32078, -32000, -32078,                                   -32003, -32000, 403, "The request has no valid token of the person who asked."],
  already_exists:               ["none",  -32068, -32602, -32602,                                   -32005, -32000, 409, "The same id was used before with other content."],
  budget_exceeded:              ["end",   -32069, -32000, -32069,                                   -32006, -32603, 402, "The budget is used up."],
  rate_limited:                 ["retry", -32070, -32000, -32070,                                   -32603, -32603, 429, "Too many requests; try again later."],
  unavailable:                  ["retry", -32071, -32000, -32603,                                   -32603, -32603, 503, "The service is not available; try again later."],
  session_ending:               ["retry", -32077, -32000, -32077,                                   -32603, -32603, 421, "This session may end before the task does. Nothing was begun; send it again in another session."],
  invalid_response:             ["none",  -32072, -32000, -32006,                                   -32603, -32603, 502, "The peer's response breaks the contract."],
  version_not_supported:        ["none",  -32073, -32000, -32009,                                   -32007, -32000, 400, "The protocol version is not supported."],
  plan_error:                   ["end",   -32074, -32000, { state: "rejected", code: -32074 },      -32008, -32603, 422, "The agent cannot plan the task."],
  payload_too_large:            ["end",   -32075, -32602, -32602,                                   -32602, -32602, 413, "The body is larger than allowed."],
  canceled:                     ["end",   -32076, -32000, { state: "canceled", code: -32076 },      -32004, -32000, 409, "The task was canceled."],
  unsupported_operation:        ["none",  -32601, -32601, -32004,                                   -32601, -32601, 400, "The operation is not supported."],
  content_type_not_supported:   ["none",  -32602, -32602, -32005,                                   -32602, -32602, 415, "The content type is not supported."],
  push_not_supported:           ["none",  -32601, -32601, -32003,                                   -32601, -32601, 400, "Push notifications are not supported."],
  extended_card_not_configured: ["none",  -32601, -32601, -32007,                                   -32601, -32601, 400, "No extended agent card is configured."],
  extension_required:           ["none",  -32602, -32602, -32008,                                   -32602, -32602, 400, "A required extension was not declared."],
} as const satisfies Record<string, Row>;

export type Reason = keyof typeof errorTable;
export const reasons = Object.keys(errorTable) as readonly Reason[];

/** `ambiguous` exists in clients only: nobody knows whether the request arrived. */
export type ClientReason = Reason | "ambiguous";

/** True if the request may be repeated with the same id, even to a peer that does not deduplicate. */
export function isRetryable(reason: ClientReason): boolean {
  return reason !== "ambiguous" && errorTable[reason][0] === "retry";
}

/** True if the reason ends the task itself, and not only one call about it. */
export function isEnd(reason: ClientReason): boolean {
  return reason !== "ambiguous" && errorTable[reason][0] === "end";
}

/** Ids, times and states, never texts of users or of causes. */
export type ErrorDetails = {
  retry_after_ms?: number | undefined;
  /** Beside `unavailable`: the task may have been stored, so it must not go to another peer. */
  task_id?: string | undefined;
  correlation_id?: string | undefined;
  issues?: { path: string; message: string }[] | undefined;
  current?: string | undefined;
  target?: string | undefined;
  lost?: boolean | undefined;
};

/**
 * The certainty about a failed call. The decisions that follow from it are in certainty.ts.
 * - `undelivered`: the request certainly had no effect. None of it was written, or the peer says that it took nothing.
 * - `refused`: the peer, or a proxy before it, responded with this reason.
 * - `guessed`: the peer responded with an error that several reasons have, and this is the first of them.
 * - `unread`: the response was too large to read, so it says nothing about the task.
 * - `ended`: the peer says that the task is over, but its result is unusable. Another request would get the same result.
 * - `unknown`: nobody knows whether the request arrived. The reason is `ambiguous` then, and with no other value.
 */
export type Certainty = "undelivered" | "refused" | "guessed" | "unread" | "ended" | "unknown";

/** Marks instances across copies of this module. */
const mark = Symbol.for("sekisho.SekishoError");

/**
 * The one error class. `message` is the fixed text of the reason. The exception is kept as `cause` for debugging, and must not reach users
 * or logs.
 *
 * `instanceof` works across modules, because a bundled agent has its own copy of this class, and errors cross between it and the host.
 */
export class SekishoError extends Error {
  readonly reason: ClientReason;
  readonly details: ErrorDetails;
  readonly certainty: Certainty;
  /** The number that came over the wire. */
  readonly code: number | undefined;
  /** Private, so that no log and no inspection of the error shows it. */
  readonly #explanation: string | undefined;

  constructor(
    reason: ClientReason,
    options: {
      details?: ErrorDetails;
      /** Default: `refused`, or `unknown` if the reason is `ambiguous`. */
      certainty?: Certainty | undefined;
      code?: number;
      explanation?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(messageOf(reason), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SekishoError";
    this.reason = reason;
    this.details = options.details ?? {};
    this.certainty = options.certainty ?? (reason === "ambiguous" ? "unknown" : "refused");
    this.code = options.code;
    this.#explanation = options.explanation;
  }

  /** Also checks the fields, because an object of another origin may carry the mark with any text as its `reason`. */
  static override [Symbol.hasInstance](value: unknown): value is SekishoError {
    try {
      const { [mark]: isOurs, reason, details } = Object(value) as Partial<SekishoError>;
      const isKnown =
        reason === "ambiguous" || (typeof reason === "string" && Object.hasOwn(errorTable, reason));
      return isOurs === true && isKnown && Object(details) === details;
    } catch {
      // A getter of somebody else's object may throw.
      return false;
    }
  }

  get [mark](): true {
    return true;
  }

  /** The agent's own words for the person about why its task failed. Untrusted, and never sent on. */
  get explanation(): string | undefined {
    return this.#explanation;
  }

  /** Returns a SekishoError as it is, and wraps everything else as `internal`. */
  static from(error: unknown): SekishoError {
    return error instanceof SekishoError ? error : new SekishoError("internal", { cause: error });
  }
}

function messageOf(reason: ClientReason): string {
  return reason === "ambiguous"
    ? "Nobody knows whether the request arrived."
    : errorTable[reason][7];
}
