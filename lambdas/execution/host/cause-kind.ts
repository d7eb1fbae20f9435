/** What may be said of a thrown value in a log: its code or the name of its kind, never its text. */
import { types } from "node:util";

/** A code such as ECONNREFUSED or ERR_JWT_EXPIRED says more, and survives a bundle, where classes of packages have lost their names. */
export function causeKind(thrown: unknown): string {
  if (!types.isNativeError(thrown)) return typeof thrown;
  if ("code" in thrown && typeof thrown.code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(thrown.code))
    return thrown.code;
  return /^[A-Za-z]{1,40}$/.test(thrown.name) ? thrown.name : "Error";
}
