/** Admits the subjects of JSON Web Tokens (RFC 7519) that a trusted issuer has signed. */

import type { JwtIssuerConfig } from "@sekisho/config/authenticator-schema.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { decodeJwt, errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import { type Authenticator, readBearerToken } from "./authenticator.ts";
import { createIssuerKeys, type KeyTimes } from "./issuer-keys.ts";
import { checkLifetime } from "./lifetime.ts";

/**
 * The accepted types (`typ`): a JWT (RFC 7519, section 5.1), or an access token (RFC 9068, section 2.1). AWS STS, Google and Entra use
 * `JWT`. Others, such as a logout token or a DPoP proof, serve other purposes.
 */
const acceptedTypes: ReadonlySet<string> = new Set(["jwt", "at+jwt"]);

/**
 * The principal is made of issuer and subject. A token's issuer selects one of `issuers`; nothing else of the token is used before its
 * signature, audience or client, and times are verified. `isGenuine` checks the verified claims.
 */
export function createJwtAuthenticator(options: {
  issuers: readonly JwtIssuerConfig[];
  kind?: "jwt" | "web-identity";
  isGenuine?: (claims: JWTPayload) => boolean;
  keyTimes?: Partial<KeyTimes>;
  now?: () => number;
}): Authenticator {
  const { issuers, kind = "jwt", isGenuine = () => true, keyTimes, now = Date.now } = options;
  const trustedIssuers = new Map(
    issuers.map((issuer) => [
      issuer.issuer,
      { ...issuer, keys: createIssuerKeys({ ...issuer, times: keyTimes, now }) },
    ]),
  );

  async function verify(
    token: string,
  ): Promise<{ issuer: string; subject: string; isAllowed: boolean } | undefined> {
    const namedIssuer = trustedIssuers.get(decodeJwt(token).iss ?? "");
    if (namedIssuer === undefined) return undefined;
    const {
      issuer,
      audience = [],
      clients,
      subjects,
      keys,
      clockToleranceSeconds,
      maxLifetimeSeconds,
    } = namedIssuer;
    const verifiedToken = await jwtVerify(token, keys, {
      issuer,
      // An empty list of audiences admits no token.
      ...(clients === undefined && { audience }),
      algorithms: [...namedIssuer.algorithms],
      requiredClaims: ["exp", "iat", "sub"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    });
    if (clients !== undefined) checkClient({ ...verifiedToken, clients });
    checkType(verifiedToken);
    checkLifetime({ ...verifiedToken, clockToleranceSeconds, maxLifetimeSeconds, nowMs: now() });
    const { payload } = verifiedToken;
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
        throw error instanceof errors.JOSEError
          ? new SekishoError("unauthenticated", { cause: error })
          : error;
      });
      if (caller === undefined) return undefined;
      if (!caller.isAllowed) throw new SekishoError("permission_denied");
      // A URL contains no space, so two callers cannot have the same principal.
      return `${caller.issuer} ${caller.subject}`;
    },
  };
}

/**
 * Accepts the access tokens of the clients. `token_use` tells them from id tokens, which are for the client itself. A token with an audience
 * is for the API that it names. The claims are those of Amazon Cognito:
 * https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html
 */
function checkClient({
  payload,
  clients,
}: Pick<JWTVerifyResult, "payload"> & { clients: readonly string[] }): void {
  const { aud, token_use, client_id } = payload;
  if (aud !== undefined)
    throw new errors.JWTClaimValidationFailed("unexpected aud", payload, "aud");
  if (token_use !== "access")
    throw new errors.JWTClaimValidationFailed("unexpected use", payload, "token_use");
  if (typeof client_id !== "string" || !clients.includes(client_id))
    throw new errors.JWTClaimValidationFailed("unexpected client", payload, "client_id");
}

function checkType({ protectedHeader: { typ = "JWT" }, payload }: JWTVerifyResult): void {
  const type = String(typ)
    .toLowerCase()
    .replace(/^application\//, "");
  if (!acceptedTypes.has(type))
    throw new errors.JWTClaimValidationFailed("unexpected typ", payload, "typ");
}
