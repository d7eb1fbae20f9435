/** Verifies the token that says who asked: an access token of RFC 9068 for one request, made by a Verification zone. */
import { hash } from "node:crypto";
import { askerTokenSeconds, askerTokenType } from "@sekisho/contracts/asker.ts";
import { type AskerClaims, askerClaimsSchema } from "@sekisho/contracts/asker-claims.ts";
import { dropUndefined } from "@sekisho/runtime/untrusted-input.ts";
import { errors, jwtVerify } from "jose";
import type { ClaimToken } from "../tasks/used-token.ts";
import {
  type AskerProblem,
  AskerRefusal,
  type AskerVerifier,
  decodePart,
  type LocalKeys,
  type VerifierSettings,
} from "./asker-token.ts";
import { createIssuerKeys, type KeyTimes } from "./issuer-keys.ts";
import { checkLifetime } from "./lifetime.ts";

/** How far the clocks of the zones may differ. */
const clockToleranceSeconds = 30;

/**
 * The keys are those of `zones`, by the token's issuer. `localKeys` replaces the fetched ones, for the zone on the same machine. Nothing of the
 * token is used before its signature is verified, and it counts as used only when everything else holds.
 */
export function createAskerVerifier(options: {
  settings: VerifierSettings;
  claimToken: ClaimToken;
  localKeys?: LocalKeys | undefined;
  keyTimes?: Partial<KeyTimes> | undefined;
  now: () => number;
}): AskerVerifier {
  const { settings, claimToken, localKeys, keyTimes: times, now } = options;
  const zones = new Map(
    settings.zones.map((zone) => {
      const keys = localKeys?.get(zone.issuer) ?? createIssuerKeys({ ...zone, times, now });
      return [zone.issuer, { ...zone, keys }];
    }),
  );

  async function verifySignature(token: string): Promise<AskerClaims> {
    const { header, payload: namedClaims } = readToken(token);
    if (typeof header.kid !== "string" || header.kid === "") throw new AskerRefusal("key");
    const zone = zones.get(String(namedClaims.iss));
    if (zone === undefined) throw new AskerRefusal("issuer");
    const { payload } = await jwtVerify(token, zone.keys, {
      issuer: zone.issuer,
      audience: settings.audience,
      algorithms: [...zone.algorithms],
      typ: askerTokenType,
      requiredClaims: ["exp", "iat"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    });
    const claims = askerClaimsSchema.safeParse(payload).data;
    if (claims === undefined || claims.exp <= claims.iat) throw new AskerRefusal("claims");
    const maxLifetimeSeconds = askerTokenSeconds;
    checkLifetime({ payload, clockToleranceSeconds, maxLifetimeSeconds, nowMs: now() });
    if (zone.clients?.includes(claims.client_id) === false) throw new AskerRefusal("client");
    return claims;
  }

  return {
    async verify({ token, body, namedPerson }) {
      const claims = await verifySignature(token).catch(throwRefusal);
      const { iss: issuer, sub: subject, client_id: zone, jti, exp } = claims;
      // The zone itself asks for nothing.
      if (subject === zone) {
        if (settings.mode === "optional") return undefined;
        throw new AskerRefusal("person");
      }
      if (claims.act?.sub !== zone) throw new AskerRefusal("claims");
      if (claims.body_sha256 !== hash("sha256", body)) throw new AskerRefusal("digest");
      const isOther =
        isDifferent(claims.slack_user, namedPerson.user) ||
        isDifferent(claims.slack_team, namedPerson.team);
      if (isOther) throw new AskerRefusal("params");
      const expiresAtMs = (exp + clockToleranceSeconds) * 1000;
      if (!(await claimToken({ issuer, jti, expiresAtMs }))) throw new AskerRefusal("replayed");
      const person = dropUndefined({
        ...{ subject, issuer, zone },
        ...{ team: claims.slack_team, enterprise: claims.slack_enterprise },
        ...{ user: claims.slack_user, channel: claims.slack_channel },
        ...{ thread: claims.slack_thread, email: claims.email },
      });
      return { person: { ...person, subject, issuer, zone }, token, expiresAtMs: exp * 1000 };
    },
  };
}

function isDifferent(claim: string | undefined, param: string | undefined): boolean {
  return claim !== undefined && param !== undefined && claim !== param;
}

const maxTokenLength = 8 * 1024;

/** Throws for what two parsers might read differently: another spelling of the same bytes, and a repeated key. */
function readToken(token: string) {
  const parts = token.split(".");
  const isCanonical = parts.every(
    (part) => part !== "" && Buffer.from(part, "base64url").toString("base64url") === part,
  );
  if (token.length > maxTokenLength || parts.length !== 3 || !isCanonical)
    throw new AskerRefusal("malformed");
  const [header, payload] = parts.map((part) => decodePart(part));
  if (header === undefined || payload === undefined) throw new AskerRefusal("malformed");
  return { header, payload };
}

const problemsOfClaims: Readonly<Record<string, AskerProblem>> = {
  typ: "type",
  iss: "issuer",
  aud: "audience",
  nbf: "early",
  iat: "early",
  exp: "lifetime",
};

/** Anything but an error of the token, such as keys that cannot be fetched, is thrown as it is. */
function throwRefusal(error: unknown): never {
  if (!(error instanceof errors.JOSEError)) throw error;
  throw new AskerRefusal(toProblem(error));
}

function toProblem(error: errors.JOSEError): AskerProblem {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.reason === "invalid" || error.reason === "missing"
      ? "claims"
      : (problemsOfClaims[error.claim] ?? "claims");
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return "algorithm";
  const isKeyProblem =
    error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys;
  return isKeyProblem ? "key" : "malformed";
}
