/**
 * The policy `jwtAuth` of agentgateway, in its source of 2026-08 (crates/agentgateway/src/http/jwt.rs, with the crate jsonwebtoken). It takes
 * the address of the keys, and has no discovery.
 */
import {
  type Admits,
  type FetchJson,
  fetchKeys,
  isNumber,
  listTexts,
  overlaps,
  readToken,
} from "./read-token.ts";

export type AgentGatewayProvider = {
  /** By default a request without a token passes. */
  mode?: "strict" | "optional";
  issuer: string;
  audiences?: readonly string[];
  jwks: { url: string };
};

/** The crate's own tolerance. */
const leewaySeconds = 60;
const familyAlgorithms: Record<string, readonly string[]> = {
  RSA: ["RS256", "RS384", "RS512"],
  EC: ["ES256", "ES384"],
};

/** An empty token stands for a request without one. */
export async function openAgentGateway(
  config: AgentGatewayProvider,
  fetchJson: FetchJson,
): Promise<Admits> {
  const { mode = "optional", issuer, audiences, jwks } = config;
  const keys = await fetchKeys(jwks.url, fetchJson);

  return (token, now) => {
    if (token === "") return mode === "optional";
    const { header, claims, isSignedBy } = readToken(token) ?? {};
    const key = keys.find(({ kid }) => kid !== undefined && kid === header?.kid);
    if (claims === undefined || key === undefined || !isCanonical(token)) return false;
    const { alg, typ } = header ?? {};
    // Its header has types: a list in place of a text is not read.
    if (typeof alg !== "string" || !["string", "undefined"].includes(typeof typ)) return false;
    const algorithms = key.alg === undefined ? familyAlgorithms[key.kty ?? ""] : [key.alg];
    const { iss, aud, exp } = claims;
    return (
      algorithms?.includes(alg) === true &&
      isSignedBy?.(key) === true &&
      // Only the end is required. An issuer or an audience of the wrong type, or none, is not compared.
      isNumber(exp) &&
      exp < 2 ** 64 &&
      now <= Math.round(exp) + leewaySeconds &&
      isMissingOrOneOf(iss, [issuer]) &&
      (audiences === undefined || isMissingOrOneOf(aud, audiences))
    );
  };
}

function isMissingOrOneOf(claim: unknown, allowed: readonly string[]): boolean {
  const isText = typeof claim === "string" || Array.isArray(claim);
  return !isText || overlaps(listTexts(claim), allowed);
}

/** Its decoder takes the URL alphabet without padding, and only the one spelling of the bytes. */
function isCanonical(token: string): boolean {
  return token
    .split(".")
    .every((part) => Buffer.from(part, "base64url").toString("base64url") === part);
}
