/** The check of a token's times that jose does not make. */
import { errors, type JWTPayload } from "jose";

/** jose has already checked that both are numbers, and `exp` against the clock. */
export function checkLifetime(request: {
  payload: JWTPayload;
  clockToleranceSeconds: number;
  maxLifetimeSeconds: number;
  nowMs: number;
}): void {
  const { payload, clockToleranceSeconds, maxLifetimeSeconds, nowMs } = request;
  const { exp = Number.POSITIVE_INFINITY, iat = Number.NEGATIVE_INFINITY } = payload;
  if (iat - clockToleranceSeconds > nowMs / 1000) {
    throw new errors.JWTClaimValidationFailed("issued in the future", payload, "iat");
  }
  if (exp - iat > maxLifetimeSeconds)
    throw new errors.JWTClaimValidationFailed("lives too long", payload, "exp");
}
