/** Failures before a message's first byte: nothing of it can have arrived. */
import { SekishoError } from "../../../../contracts/errors.ts";

/** What fetching the card came to, as what it means for the message: never in doubt, and never about the message's own size. */
export function undelivered(thrown: unknown): SekishoError {
  if (!(thrown instanceof SekishoError)) return new SekishoError("unavailable", { cause: thrown, undelivered: true });
  const { reason, details, exact, cause } = thrown;
  const told = reason === "ambiguous" ? "unavailable" : reason === "payload_too_large" ? "invalid_response" : reason;
  return new SekishoError(told, { details, exact, cause, undelivered: true });
}

/** The card is of no use; `why` is for whoever debugs, and names what to change. */
export function unusableCard(why: string): SekishoError {
  return new SekishoError("invalid_response", { cause: new Error(why), undelivered: true });
}
