/** The public keys of one issuer of tokens: fetched when they are needed, kept, and fetched anew when they have changed. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { createCachedValue, elapsedMs, pauseAfterFailure } from "../../shared/async/cache.ts";
import { readResponseBody } from "../../shared/http/read-body.ts";

export type KeyTimes = {
  /** Keys are used that long without being looked at again. */
  maxAgeMs: number;
  /** So long after they were fetched they go on where they cannot be fetched anew (stale-if-error, RFC 5861, section 4). */
  maxStaleMs: number;
  /** A key that is not among them is looked for at most that often, however many tokens name one. */
  coolDownMs: number;
  /** After a failure the issuer is left alone that long, or for `coolDownMs` where the last keys go on. */
  failureCoolDownMs: number;
  /** For the keys and, where it is asked for, the discovery document before them. */
  timeoutMs: number;
};

const defaultTimes: KeyTimes = {
  maxAgeMs: 600_000,
  maxStaleMs: 3_600_000,
  coolDownMs: 30_000,
  failureCoolDownMs: 2000,
  timeoutMs: 5000,
};

/** The keys cannot be had for now, so that nothing can be said of a token. */
class KeysUnavailable extends Error {
  override name = "KeysUnavailable";
}

/**
 * Rejects with an error of jose where no key fits the token, and with another where the keys cannot be had. While they
 * cannot be fetched, the last ones go on for a while; a key id that is not among those is one of keys that cannot be had,
 * since the issuer may have rotated them.
 */
export function createIssuerKeys({
  issuer,
  jwksUrl,
  times = {},
  now = Date.now,
}: {
  issuer: string;
  jwksUrl?: string | undefined;
  times?: Partial<KeyTimes> | undefined;
  now?: () => number;
}): JWTVerifyGetKey {
  const { maxAgeMs, maxStaleMs, coolDownMs, failureCoolDownMs, timeoutMs } = { ...defaultTimes, ...times };

  let loadedAtMs = Number.NEGATIVE_INFINITY;
  const isYounger = (ageMs: number) => elapsedMs(loadedAtMs, now()) < ageMs;

  async function load() {
    const signal = AbortSignal.timeout(timeoutMs);
    // Found out each time anew: an issuer may move its keys.
    const url = jwksUrl ?? (await discover({ issuer, signal }));
    const json = await fetchJson({ url, signal });
    // jose says whether it is a set of keys.
    const value = createLocalJWKSet(json as JSONWebKeySet);
    loadedAtMs = now();
    return { value, keepMs: maxAgeMs, staleMs: maxStaleMs };
  }
  // With keys that go on there is no hurry, and an issuer that hangs holds up callers seldom.
  const pauseMs = () => (isYounger(maxStaleMs) ? coolDownMs : failureCoolDownMs);
  const cached = createCachedValue<JWTVerifyGetKey>({ load: pauseAfterFailure({ load, now, pauseMs }), now });

  return async (header, token) => {
    try {
      const keys = await cached.get();
      try {
        return await keys(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || isYounger(coolDownMs)) throw error;
      }
      await cached.reload({ minIntervalMs: 0 });
      const newer = await cached.get();
      return await newer(header, token);
    } catch (cause) {
      throw isTokenError(cause) ? cause : new KeysUnavailable("The keys of an issuer cannot be had.", { cause });
    }
  };
}

function isTokenError(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some((kind) => error instanceof kind);
}

const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.string() });

/** OpenID Connect Discovery 1.0, sections 4.1 and 4.3: a document that speaks for another issuer is not believed. */
async function discover({ issuer, signal }: { issuer: string; signal: AbortSignal }): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = discoverySchema.parse(await fetchJson({ url, signal }));
  if (document.issuer !== issuer) throw new Error("A discovery document is of another issuer.");
  return document.jwks_uri;
}

const maxBytes = 256 * 1024;

/** https only (http on loopback); follows no redirect; rejects where the answer is no 200, too large, or no JSON. */
async function fetchJson({ url, signal }: { url: string; signal: AbortSignal }): Promise<unknown> {
  const { protocol, hostname } = new URL(url);
  const isFit = protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
  if (!isFit) throw new Error("An issuer's document must be at an https URL.");
  const response = await fetch(url, { signal, redirect: "manual", headers: { accept: "application/json" } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`An issuer answered ${response.status}.`);
  }
  const body = await readResponseBody({ response, maxBytes });
  if (body === "too_large") throw new Error(`An issuer's document is larger than ${maxBytes} bytes.`);
  return JSON.parse(body.toString());
}
