/**
 * What the doubles of other verifiers share. They are written for themselves: neither jose nor our own verifiers are in them.
 *
 * Where the documentation of a verifier says nothing, its double lets a token pass, so that nobody relies on a check that may not exist.
 */
import { createPublicKey, verify } from "node:crypto";

export type Jwk = Record<string, string>;
type Fields = Record<string, unknown>;

export type ReadToken = {
  header: Fields;
  claims: Fields;
  /** The key need not fit: then the token is not signed by it. */
  isSignedBy(key: Jwk): boolean;
};

/** Gets a document over HTTP. */
export type FetchJson = (url: string) => Promise<Fields>;

/** True if the verifier lets the token through. `nowSeconds` is its clock. */
export type Admits = (token: string, nowSeconds: number) => boolean;

/** Undefined for what is no JSON Web Token. As lax as a decoder may be: it skips characters that it does not know. */
export function readToken(token: string): ReadToken | undefined {
  const parts = token.split(".");
  const [header = "", payload = "", signature = ""] = parts;
  try {
    if (parts.length !== 3) return undefined;
    return {
      header: readObject(header),
      claims: readObject(payload),
      isSignedBy: (key) =>
        isSigned(`${header}.${payload}`, Buffer.from(signature, "base64url"), key),
    };
  } catch {
    return undefined;
  }
}

function readObject(part: string): Fields {
  const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError();
  return value as Fields;
}

/** RS256 for a key of RSA, ES256 for one of P-256. */
function isSigned(text: string, signature: Buffer, jwk: Jwk): boolean {
  const key = createPublicKey({ key: jwk, format: "jwk" });
  return verify("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }, signature);
}

export function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

/** The values of a claim that is a text or a list of texts, such as `aud`. */
export function listTexts(claim: unknown): string[] {
  return (Array.isArray(claim) ? claim : [claim]).filter((one) => typeof one === "string");
}

export function overlaps(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.includes(one));
}

/** OpenID Connect Discovery 1.0, section 4. */
export async function discover(discoveryUrl: string, fetchJson: FetchJson) {
  const { issuer, jwks_uri } = await fetchJson(discoveryUrl);
  if (typeof issuer !== "string" || typeof jwks_uri !== "string") throw new TypeError(discoveryUrl);
  return { issuer, keys: await fetchKeys(jwks_uri, fetchJson) };
}

export async function fetchKeys(url: string, fetchJson: FetchJson): Promise<Jwk[]> {
  const { keys } = await fetchJson(url);
  return keys as Jwk[];
}
