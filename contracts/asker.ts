/**
 * The asker's token: says to whoever receives a call which person it is for. It is an access token of RFC 9068, so that verifiers that
 * exist accept it. Its claims are in `asker-claims.ts`. Needs no zod, so that cold starts build no schema.
 */
/** The header of its own. The authorizer `asker` sends the token as the bearer instead. */
export const askerHeader = "sekisho-asker";
/** RFC 9068, section 2.1. */
export const askerTokenType = "at+jwt";
/** From `iat` to `exp`. A long task needs a new token for each call, not a long one. */
export const askerTokenSeconds = 300;
