/** The public keys of one issuer of tokens: fetched when they are needed, kept, and fetched anew when they have changed. */
import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { fetchJson } from "./fetch-json.ts";

export type KeyTimes = {
  /** Keys are used that long without being looked at again. */
  maxAgeMs: number;
  /** A key that is not among them is looked for at most that often, however many tokens name one. */
  coolDownMs: number;
  /** After a failure the issuer is left alone that long. */
  failureCoolDownMs: number;
  /** For the keys and, where it is asked for, the discovery document before them. */
  timeoutMs: number;
};

const defaultTimes: KeyTimes = { maxAgeMs: 600_000, coolDownMs: 30_000, failureCoolDownMs: 2000, timeoutMs: 5000 };

/** The keys cannot be had for now, so that nothing can be said of a token. */
class KeysUnavailable extends Error {
  override name = "KeysUnavailable";
}

/** Rejects with an error of jose where no key fits the token, and with another where the keys cannot be had. */
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
  const { maxAgeMs, coolDownMs, failureCoolDownMs, timeoutMs } = { ...defaultTimes, ...times };
  let leftAloneUntilMs = Number.NEGATIVE_INFINITY;

  const fetchKeys: FetchImplementation = async (_url, { signal }) => {
    if (now() < leftAloneUntilMs) throw new Error("The issuer did not answer a moment ago.");
    try {
      const url = jwksUrl ?? (await discover({ issuer, signal }));
      return Response.json(await fetchJson({ url, signal }));
    } catch (error) {
      leftAloneUntilMs = now() + failureCoolDownMs;
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
    } catch (error) {
      if (isOfToken(error)) throw error;
      throw new KeysUnavailable("The keys of an issuer cannot be had.", { cause: error });
    }
  };
}

function isOfToken(error: unknown): boolean {
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
