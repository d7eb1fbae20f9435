/** Verifies the token that says who asked. It needs the package jose. */
import { createHash } from "node:crypto";
import { type CompactVerifyGetKey, compactVerify, errors } from "jose";

export type Settings = {
  /** The `issuer` of the zone's discovery document, character by character. */
  issuer: string;
  /** The audience of this agent. No other agent may have it. */
  audience: string;
  /** The zones that may ask: the values of `client_id`. */
  zones: readonly string[];
  /** How far the clocks of the two sides may differ. */
  toleranceSeconds: number;
  /** createRemoteJWKSet(new URL(jwksUri)) of jose: it fetches the keys, caches them, and sees a rotation. */
  keys: CompactVerifyGetKey;
  /** The ids of used tokens and when they may be forgotten: at first an empty map. Several instances need a store that they share. */
  usedIds: Map<string, number>;
};

/** `sub` is the person, or equals `client_id` if no person asked. */
export type Claims = { sub: string; client_id: string } & Record<string, unknown>;

/** Its message says which check failed, and holds nothing of the token. */
export class Refused extends Error {}

const polls: unknown[] = ["get_task", "cancel_task", "feedback"];
const pollsOfA2a: unknown[] = ["GetTask", "CancelTask", "SubscribeToTask"];
const texts = ["slack_team", "slack_enterprise", "slack_user", "slack_channel", "slack_thread"];

/** `body` is the body of the HTTP request, byte by byte. Call it before you read anything else of the request. */
export async function verify(
  { token, body }: { token: string; body: Uint8Array },
  { issuer, audience, zones, toleranceSeconds, keys, usedIds }: Settings,
  now = Date.now() / 1000,
): Promise<Claims> {
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token)?.slice(1) ?? [];
  const [header = "", payload = "", signature = ""] = parts;
  check(token.length <= 8192 && isCanonical(signature), "malformed");
  // Only the listed algorithms and types. The key is one of the zone's own: one that the token brings is never used.
  const { alg, kid, typ, crit } = parse(Buffer.from(header, "base64url"), "malformed");
  check((alg === "RS256" || alg === "ES256") && typeof kid === "string", "header");
  check((typ === "at+jwt" || typ === "application/at+jwt") && crit === undefined, "header");
  await compactVerify(token, keys).catch((error: unknown) => {
    if (error instanceof errors.JWKSNoMatchingKey) throw new Refused("header");
    // Anything else, such as keys that cannot be fetched, is no fault of the token.
    throw error instanceof errors.JWSSignatureVerificationFailed ? new Refused("signature") : error;
  });

  const claims = parse(Buffer.from(payload, "base64url"), "malformed");
  const { sub, client_id, jti, iat, exp, nbf = iat } = claims;
  check(claims.iss === issuer && claims.aud === audience, "claims");
  check(isText(sub) && isText(client_id) && isText(jti) && zones.includes(client_id), "claims");
  // A person comes with the zone that speaks for it.
  const { act = {} } = claims as { act?: { sub?: unknown } | null };
  check(sub === client_id || act?.sub === client_id, "claims");
  for (const name of [...texts, "request_id", "email"])
    check(!(name in claims) || typeof claims[name] === "string", "claims");

  check(isSecond(iat) && isSecond(exp) && isSecond(nbf), "claims");
  check(exp > iat && exp - iat <= 300 && now < exp + toleranceSeconds, "time");
  check(Math.max(iat, nbf) <= now + toleranceSeconds, "time");

  // Without a digest a token is for reading the state of a task, as often as it lives.
  if (!("body_sha256" in claims) && isPoll(body)) return { ...claims, sub, client_id };
  check(claims.body_sha256 === createHash("sha256").update(body).digest("hex"), "body");

  // There is no await from here on, so that two requests with one token cannot both pass.
  for (const [id, until] of usedIds) if (until <= now) usedIds.delete(id);
  check(!usedIds.has(jti), "replayed");
  usedIds.set(jti, exp + toleranceSeconds);
  return { ...claims, sub, client_id };
}

function check(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new Refused(reason);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isSecond(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** False for another spelling of the same bytes. */
function isCanonical(part: string): boolean {
  return part !== "" && Buffer.from(part, "base64url").toString("base64url") === part;
}

function isPoll(body: Uint8Array): boolean {
  try {
    const { method } = parse(body, "body");
    return polls.includes(method) || pollsOfA2a.includes(method);
  } catch {
    return false;
  }
}

/** Parses a JSON object in which no key is repeated, because parsers differ on which of the two counts. */
function parse(bytes: Uint8Array, reason: string): Record<string, unknown> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    // In valid JSON a string before a colon is a key.
    const strings = text.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g) ?? [];
    const isUnambiguous = strings.filter((one) => one.endsWith(":")).length === countKeys(value);
    if (isObject(value) && !Array.isArray(value) && isUnambiguous) return { ...value };
  } catch {}
  throw new Refused(reason);
}

function countKeys(value: unknown): number {
  if (!isObject(value)) return 0;
  const below = Object.values(value).reduce((sum: number, member) => sum + countKeys(member), 0);
  return below + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
