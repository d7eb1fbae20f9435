/** `data` of an error object where it is an object: every dialect but A2A 1.x. */
import { type ErrorDetails, errorDataSchema, type Reason, reasonSchema, type SekishoError } from "./errors.ts";

/** What was found in `data`. `retryable: false` beside a reason that is retryable says that the sender had only guessed it. */
export type FoundInData = { reason?: Reason | undefined; retryable?: boolean | undefined; details: ErrorDetails };

const { reason: _reason, retryable: _retryable, ...detailFields } = errorDataSchema.shape;

/** `{ reason, retryable, ...details }`: what survives every hop. */
export function detailsToObject({ error, reason }: { error: SekishoError; reason: Reason }): Record<string, unknown> {
  return { reason, retryable: error.retryable, ...error.details };
}

/** Takes whatever of the known fields is well-formed; `{ missing: [...] }`, as some agents send it, becomes issues. Never throws. */
export function detailsFromObject(data: Readonly<Record<string, unknown>>): FoundInData {
  const details: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(detailFields)) {
    const value = schema.safeParse(data[name]).data;
    if (value !== undefined) details[name] = value;
  }
  const missing = Array.isArray(data.missing) ? data.missing.filter((name) => typeof name === "string") : [];
  if (missing.length > 0) details.issues ??= missing.map((path) => ({ path, message: "missing" }));
  return {
    reason: reasonSchema.safeParse(data.reason).data,
    retryable: typeof data.retryable === "boolean" ? data.retryable : undefined,
    details,
  };
}
