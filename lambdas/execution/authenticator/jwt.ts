/** Lets in the subjects of JSON Web Tokens (RFC 7519) that a trusted issuer has signed. */
import { decodeJwt, errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import { SekishoError } from "../../../contracts/errors.ts";
import type { JwtIssuerConfig } from "../../shared/config/authenticator-schema.ts";
import { type Authenticator, readBearerToken } from "../http/exchange.ts";
import { createIssuerKeys, type KeyTimes } from "./issuer-keys.ts";

/**
 * The types (`typ`) that are accepted: a JWT (RFC 7519, section 5.1), or an access token (RFC 9068, section 2.1). AWS STS, Google
 * and Entra say `JWT`. Other kinds, such as a logout token or a DPoP proof, are for other purposes.
 */
const acceptedTypes: ReadonlySet<string> = new Set(["jwt", "at+jwt"]);

/**
 * A principal is issuer and subject. Which issuer a token names only chooses among the `issuers`; nothing of it is believed
 * before its signature, audience and times are checked. `isGenuine` is asked last of the claims.
 */
export function createJwtAuthenticator({
  issuers,
  kind = "jwt",
  isGenuine = () => true,
  keyTimes,
  now = Date.now,
}: {
  issuers: readonly JwtIssuerConfig[];
  kind?: "jwt" | "web-identity";
  isGenuine?: (claims: JWTPayload) => boolean;
  keyTimes?: Partial<KeyTimes>;
  now?: () => number;
}): Authenticator {
  const trusted = new Map(
    issuers.map((each) => [each.issuer, { ...each, keys: createIssuerKeys({ ...each, times: keyTimes, now }) }]),
  );

  async function verify(token: string): Promise<{ issuer: string; subject: string; isAllowed: boolean } | undefined> {
    const named = trusted.get(decodeJwt(token).iss ?? "");
    if (named === undefined) return undefined;
    const { issuer, audience, subjects, keys, clockToleranceSeconds, maxLifetimeSeconds } = named;
    const verified = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: [...named.algorithms],
      requiredClaims: ["exp", "iat", "sub"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    });
    checkType(verified);
    checkLifetime({ ...verified, clockToleranceSeconds, maxLifetimeSeconds, nowMs: now() });
    const { payload } = verified;
    const { sub: subject } = payload;
    if (typeof subject !== "string" || !isGenuine(payload)) return undefined;
    return { issuer, subject, isAllowed: subjects.includes(subject) };
  }

  return {
    kind,
    async authenticate(request) {
      const token = readBearerToken(request);
      if (token === undefined) return undefined;
      const caller = await verify(token).catch((error: unknown) => {
        throw error instanceof errors.JOSEError ? new SekishoError("unauthenticated", { cause: error }) : error;
      });
      if (caller === undefined) return undefined;
      if (!caller.isAllowed) throw new SekishoError("permission_denied");
      // No URL has a space in it, so that no two callers are one principal.
      return `${caller.issuer} ${caller.subject}`;
    },
  };
}

function checkType({ protectedHeader: { typ = "JWT" }, payload }: JWTVerifyResult): void {
  const type = String(typ)
    .toLowerCase()
    .replace(/^application\//, "");
  if (!acceptedTypes.has(type)) throw new errors.JWTClaimValidationFailed("unexpected typ", payload, "typ");
}

/** jose has checked that both are numbers, and `exp` against the clock. */
function checkLifetime({
  payload,
  clockToleranceSeconds,
  maxLifetimeSeconds,
  nowMs,
}: Pick<JWTVerifyResult, "payload"> & {
  clockToleranceSeconds: number;
  maxLifetimeSeconds: number;
  nowMs: number;
}): void {
  const { exp = Number.POSITIVE_INFINITY, iat = Number.NEGATIVE_INFINITY } = payload;
  if (iat - clockToleranceSeconds > nowMs / 1000) {
    throw new errors.JWTClaimValidationFailed("issued in the future", payload, "iat");
  }
  if (exp - iat > maxLifetimeSeconds) throw new errors.JWTClaimValidationFailed("lives too long", payload, "exp");
}
