/** Fetches and caches the public keys of one token issuer, and fetches them again when they have changed. */

import { isSecureUrl } from "@sekisho/contracts/loopback.ts";
import { createCachedValue, elapsedMs, pauseAfterFailure } from "@sekisho/runtime/async/cache.ts";
import { readResponseBody } from "@sekisho/runtime/http/read-body.ts";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import * as z from "zod";

export type KeyTimes = {
  /** How long keys are used before they are fetched again. */
  maxAgeMs: number;
  /** How long keys stay in use if they cannot be fetched again (stale-if-error, RFC 5861, section 4). */
  maxStaleMs: number;
  /** The shortest time between two fetches for unknown keys, however many tokens name one. */
  coolDownMs: number;
  /** The pause after a failure. It is `coolDownMs` while the last keys stay in use. */
  failureCoolDownMs: number;
  /** The limit for the keys, together with the discovery document if it is needed. */
  timeoutMs: number;
};

const defaultTimes: KeyTimes = {
  maxAgeMs: 600_000,
  maxStaleMs: 3_600_000,
  coolDownMs: 30_000,
  failureCoolDownMs: 2000,
  timeoutMs: 5000,
};

/** The keys are unavailable now, so no token can be checked. */
class KeysUnavailable extends Error {
  override name = "KeysUnavailable";
}

/**
 * Rejects with an error of jose if no key fits the token, and with another error if the keys are unavailable. While they cannot be
 * fetched, the last ones stay in use for a while. An unknown key id then counts as unavailable, because the issuer may have rotated
 * its keys.
 */
export function createIssuerKeys(options: {
  issuer: string;
  jwksUrl?: string | undefined;
  times?: Partial<KeyTimes> | undefined;
  now?: () => number;
}): JWTVerifyGetKey {
  const { issuer, jwksUrl, times = {}, now = Date.now } = options;
  const { maxAgeMs, maxStaleMs, coolDownMs, failureCoolDownMs, timeoutMs } = {
    ...defaultTimes,
    ...times,
  };

  let loadedAtMs = Number.NEGATIVE_INFINITY;
  const isYounger = (ageMs: number) => elapsedMs(loadedAtMs, now()) < ageMs;

  async function load() {
    const signal = AbortSignal.timeout(timeoutMs);
    // Read each time, because an issuer may move its keys.
    const url = jwksUrl ?? (await discover({ issuer, signal }));
    const json = await fetchJson({ url, signal });
    // jose checks whether it is a set of keys.
    const value = createLocalJWKSet(json as JSONWebKeySet);
    loadedAtMs = now();
    return { value, keepMs: maxAgeMs, staleMs: maxStaleMs };
  }
  // The pause is longer while the last keys are in use, so that an issuer that hangs seldom delays a caller.
  const pauseMs = () => (isYounger(maxStaleMs) ? coolDownMs : failureCoolDownMs);
  const cache = createCachedValue<JWTVerifyGetKey>({
    load: pauseAfterFailure({ load, now, pauseMs }),
    now,
  });

  return async (header, token) => {
    try {
      const keys = await cache.get();
      try {
        return await keys(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || isYounger(coolDownMs)) throw error;
      }
      await cache.reload({ minIntervalMs: 0 });
      const newerKeys = await cache.get();
      return await newerKeys(header, token);
    } catch (cause) {
      throw isTokenError(cause)
        ? cause
        : new KeysUnavailable("The keys of a token issuer cannot be fetched.", { cause });
    }
  };
}

function isTokenError(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some(
    (kind) => error instanceof kind,
  );
}

const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.string() });

/** OpenID Connect Discovery 1.0, sections 4.1 and 4.3: a document of another issuer is refused. */
async function discover({
  issuer,
  signal,
}: {
  issuer: string;
  signal: AbortSignal;
}): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = discoverySchema.parse(await fetchJson({ url, signal }));
  if (document.issuer !== issuer)
    throw new Error("An issuer's discovery document names another issuer.");
  return document.jwks_uri;
}

const maxBytes = 256 * 1024;

/** Allows https only (http on loopback) and follows no redirect. Rejects unless the answer is a 200 with JSON of limited size. */
async function fetchJson({ url, signal }: { url: string; signal: AbortSignal }): Promise<unknown> {
  if (!isSecureUrl(new URL(url))) throw new Error("An issuer's document must be at an https URL.");
  const response = await fetch(url, {
    signal,
    redirect: "manual",
    headers: { accept: "application/json" },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`An issuer answered ${response.status}.`);
  }
  const body = await readResponseBody({ response, maxBytes });
  if (body === "too_large")
    throw new Error(`An issuer's document is larger than ${maxBytes} bytes.`);
  return JSON.parse(body.toString());
}
