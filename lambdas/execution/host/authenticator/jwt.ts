/** Lets in the subjects of JSON Web Tokens (RFC 7519) that a trusted issuer has signed. */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import { SekishoError } from "../../../../contracts/errors.ts";
import type { JwtIssuerConfig } from "../../../shared/config/authenticator-schema.ts";
import type { Authenticator } from "./authenticator.ts";
import { bearerTokenOf } from "./bearer-token.ts";
import { createIssuerKeys, type KeyTimes } from "./issuer-keys.ts";

/**
 * A principal is issuer and subject. Which issuer a token names only chooses among the `issuers`; nothing of it is believed
 * before its signature, audience and times are checked. `isGenuine` is asked last of the claims.
 */
export function jwtAuthenticator({
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
    const { issuer, audience, subjects, keys } = named;
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: [...named.algorithms],
      requiredClaims: ["exp", "sub"],
      clockTolerance: named.clockToleranceSeconds,
      currentDate: new Date(now()),
    });
    const { sub: subject } = payload;
    if (typeof subject !== "string" || !isGenuine(payload)) return undefined;
    return { issuer, subject, isAllowed: subjects.includes(subject) };
  }

  return {
    kind,
    async authenticate(request) {
      const token = bearerTokenOf(request);
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
