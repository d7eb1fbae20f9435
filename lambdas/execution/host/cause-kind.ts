/** What may be said of a thrown value in a log: the name of its kind, never its text. */
import { types } from "node:util";

export function causeKind(thrown: unknown): string {
  if (!types.isNativeError(thrown)) return typeof thrown;
  return /^[A-Za-z]{1,40}$/.test(thrown.name) ? thrown.name : "Error";
}
