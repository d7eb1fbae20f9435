/**
 * The HTTP filter `jwt_authn` of Envoy, in its source of 2026 (source/common/jwt). It takes the address of the keys, and has no discovery:
 * https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/jwt_authn_filter
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

export type EnvoyProvider = {
  issuer: string;
  audiences?: readonly string[];
  remote_jwks: { http_uri: { uri: string } };
  /** By default a token without an end is valid for ever. */
  require_expiration?: boolean;
};

/** `clock_skew_seconds` by default. */
const clockSkewSeconds = 60;

export async function openEnvoy(config: EnvoyProvider, fetchJson: FetchJson): Promise<Admits> {
  const { issuer, audiences = [], remote_jwks, require_expiration = false } = config;
  const keys = await fetchKeys(remote_jwks.http_uri.uri, fetchJson);

  return (token, now) => {
    const { header, claims, isSignedBy } = readToken(token) ?? {};
    if (header === undefined || claims === undefined) return false;
    const { alg, kid } = header;
    const { iss, aud, exp, nbf } = claims;
    if (kid !== undefined && typeof kid !== "string") return false;
    if (!hasExpectedTypes(claims)) return false;
    // Without a key id it tries all keys of the algorithm.
    const candidates = keys.filter(
      (key) => (kid === undefined || kid === "" || key.kid === kid) && key.alg === alg,
    );
    return (
      candidates.some((key) => isSignedBy?.(key)) &&
      iss === issuer &&
      (audiences.length === 0 || overlaps(listTexts(aud), audiences)) &&
      (isNumber(exp) ? now <= Math.trunc(exp) + clockSkewSeconds : !require_expiration) &&
      (!isNumber(nbf) || Math.trunc(nbf) <= now + clockSkewSeconds)
    );
  };
}

function hasExpectedTypes(claims: Record<string, unknown>): boolean {
  const { sub, jti, iat, nbf, exp } = claims;
  return (
    [sub, jti].every((text) => text === undefined || typeof text === "string") &&
    [iat, nbf, exp].every(
      (time) => time === undefined || (isNumber(time) && time >= 0 && time < 2 ** 64),
    )
  );
}
