/** From an error object of a dialect to the domain's error: `data` counts first, the number second, the HTTP status third. */
import { detailsFromArray } from "./a2a-error-data.ts";
import { type Dialect, httpStatusOf, reasonsOf } from "./dialects.ts";
import type { JsonRpcErrorObject } from "./envelope.ts";
import { detailsFromObject, type FoundInData } from "./error-details.ts";
import { isRetryable, reasons, SekishoError } from "./errors.ts";

/**
 * Never throws, whatever `data` is. `status` is the HTTP status that came with the body, where there was one: it narrows
 * a number that several reasons share, and stands in for one that the dialect does not know.
 * `exact: false` where more than one reason is left, or none (then `internal`).
 */
export function decodeError({
  error,
  dialect,
  status,
}: {
  error: JsonRpcErrorObject;
  dialect: Dialect;
  status?: number | undefined;
}): SekishoError {
  const { code } = error;
  const { reason, retryable, details } = findInData(error.data);
  if (reason !== undefined) {
    const wasGuessed = retryable === false && isRetryable(reason);
    return new SekishoError(reason, { details, code, exact: !wasGuessed });
  }
  // Every dialect's table holds the standard codes, so they need no step of their own.
  const byCode = reasonsOf({ code, dialect });
  const pool = byCode.length > 0 ? byCode : reasons;
  const byStatus = pool.filter((candidate) => httpStatusOf(candidate) === status);
  const left = byStatus.length > 0 ? byStatus : byCode;
  return new SekishoError(left[0] ?? "internal", { details, code, exact: left.length === 1 });
}

function findInData(data: unknown): FoundInData {
  if (Array.isArray(data)) return detailsFromArray(data);
  if (typeof data === "object" && data !== null) return detailsFromObject({ ...data });
  return { details: {} };
}
