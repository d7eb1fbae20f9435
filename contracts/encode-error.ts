/** From the domain's error to an error object of a dialect. One way: nothing of the cause crosses the wire. */
import { detailsToArray } from "./a2a-error-data.ts";
import { codeOf, type Dialect } from "./dialects.ts";
import type { JsonRpcErrorObject } from "./envelope.ts";
import { detailsToObject } from "./error-details.ts";
import { SekishoError } from "./errors.ts";

/**
 * `message` is the fixed text of the reason. `ambiguous` is never on the wire: it becomes `internal`. Where A2A tells a
 * reason by the state of a task, the error object carries our own number, for the calls that have no task to answer with.
 */
export function encodeError({ error, dialect }: { error: SekishoError; dialect: Dialect }): JsonRpcErrorObject {
  if (error.reason === "ambiguous") {
    return encodeError({ error: new SekishoError("internal", { details: error.details }), dialect });
  }
  const { reason } = error;
  const code = codeOf({ reason, dialect, target: error.details.target });
  const data = dialect === "a2a" ? detailsToArray({ error, reason, code }) : detailsToObject({ error, reason });
  return { code, message: error.message, data };
}
