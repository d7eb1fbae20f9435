/** The closed list of reasons, whether each may be retried, and the one error class. Needs no zod, so that the ingress stays small. */

/** Every reason that can be on the wire. `retryable`: the same request may be sent again with the same id. */
const table = {
  parse_error: { retryable: false, message: "The request is not valid JSON." },
  invalid_request: { retryable: false, message: "The body is not a JSON-RPC 2.0 Request object." },
  method_not_found: { retryable: false, message: "There is no such method." },
  invalid_params: { retryable: false, message: "The params do not fit the method." },
  internal: { retryable: false, message: "Something unexpected went wrong." },
  timeout: { retryable: false, message: "The task took longer than it was given." },
  task_not_found: {
    retryable: false,
    message: "The task was not found. It was never known, or has expired.",
  },
  agent_not_found: { retryable: false, message: "There is no such agent." },
  invalid_state: { retryable: false, message: "The task's state does not allow that." },
  execution_failed: { retryable: false, message: "The agent ran and failed." },
  unauthenticated: { retryable: false, message: "The caller could not be authenticated." },
  permission_denied: { retryable: false, message: "The caller may not do that." },
  asker_unverified: {
    retryable: false,
    message: "The request has no valid token of the person who asked.",
  },
  already_exists: { retryable: false, message: "The same id was used before with other content." },
  budget_exceeded: { retryable: false, message: "The budget is used up." },
  rate_limited: { retryable: true, message: "Too many requests; try again later." },
  unavailable: { retryable: true, message: "The service is not available; try again later." },
  session_ending: {
    retryable: true,
    message:
      "This session may end before the task does. Nothing was begun; send it again in another session.",
  },
  invalid_response: { retryable: false, message: "The peer's response breaks the contract." },
  version_not_supported: { retryable: false, message: "The protocol version is not supported." },
  plan_error: { retryable: false, message: "The agent cannot plan the task." },
  payload_too_large: { retryable: false, message: "The body is larger than allowed." },
  canceled: { retryable: false, message: "The task was canceled." },
  unsupported_operation: { retryable: false, message: "The operation is not supported." },
  content_type_not_supported: { retryable: false, message: "The content type is not supported." },
  push_not_supported: { retryable: false, message: "Push notifications are not supported." },
  extended_card_not_configured: {
    retryable: false,
    message: "No extended agent card is configured.",
  },
  extension_required: { retryable: false, message: "A required extension was not declared." },
} as const;

export type Reason = keyof typeof table;
export const reasons = Object.keys(table) as readonly Reason[];

/** `ambiguous` exists in clients only: nobody knows whether the request arrived. */
export type ClientReason = Reason | "ambiguous";

const ambiguous = {
  retryable: false,
  message: "Nobody knows whether the request arrived.",
} as const;

/** True if the request may be repeated with the same id, even to a peer that does not deduplicate. */
export function isRetryable(reason: ClientReason): boolean {
  return describe(reason).retryable;
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
    super(
      describe(reason).message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
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
        reason === "ambiguous" || (typeof reason === "string" && Object.hasOwn(table, reason));
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

function describe(reason: ClientReason): { retryable: boolean; message: string } {
  return reason === "ambiguous" ? ambiguous : table[reason];
}
