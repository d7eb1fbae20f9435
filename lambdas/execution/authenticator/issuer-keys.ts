/** The public keys of one issuer of tokens: fetched when they are needed, kept, and fetched anew when they have changed. */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import * as z from "zod";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
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
  let leftAloneUntilMs = Number.NEGATIVE_INFINITY;
  let last: { keys: JWTVerifyGetKey; untilMs: number } | undefined;

  const fetchKeys: FetchImplementation = async (_url, { signal }) => {
    if (now() < leftAloneUntilMs) throw new Error("The issuer did not answer a moment ago.");
    try {
      const url = jwksUrl ?? (await discover({ issuer, signal }));
      const json = await fetchJson({ url, signal });
      // jose says whether it is a set of keys.
      last = { keys: createLocalJWKSet(json as JSONWebKeySet), untilMs: now() + maxStaleMs };
      return Response.json(json);
    } catch (error) {
      // With keys that go on there is no hurry, and an issuer that hangs holds up callers seldom.
      const goesOn = last !== undefined && now() < last.untilMs;
      leftAloneUntilMs = now() + (goesOn ? coolDownMs : failureCoolDownMs);
      throw error;
    }
  };
  // Where the keys are is found out by `fetchKeys`, each time anew: an issuer may move them.
  const keys = createRemoteJWKSet(new URL(jwksUrl ?? issuer), {
    cacheMaxAge: maxAgeMs,
    cooldownDuration: coolDownMs,
    timeoutDuration: timeoutMs,
    [customFetch]: fetchKeys,
  });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      if (isTokenError(cause)) throw cause;
      const unavailable = new KeysUnavailable("The keys of an issuer cannot be had.", { cause });
      if (last === undefined || now() >= last.untilMs) throw unavailable;
      try {
        return await last.keys(header, token);
      } catch (error) {
        if (isTokenError(error) && !(error instanceof errors.JWKSNoMatchingKey)) throw error;
        throw unavailable;
      }
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
