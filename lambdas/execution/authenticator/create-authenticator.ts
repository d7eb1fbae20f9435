/** Creates the configured authenticator. The one for bearer tokens is in this file. */
import { hash, timingSafeEqual } from "node:crypto";
import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import { minTokenLength } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { createCachedValue, pauseAfterFailure } from "@sekisho/runtime/async/cache.ts";
import {
  type Authenticator,
  createNoneAuthenticator,
  createPlatformAuthenticator,
  readBearerToken,
} from "./authenticator.ts";
import { createJwtAuthenticator } from "./jwt.ts";
import { createWebIdentityAuthenticator } from "./web-identity.ts";

/** A configured token is so short that it could be guessed. Nobody is admitted until it is replaced. */
class TokenTooShort extends Error {
  override name = "TokenTooShort";
}

/** Tokens are read again after half a minute, so that a rotation takes effect. */
export function createAuthenticator(options: {
  config: AuthenticatorConfig;
  readSecret: (reference: SecretReference) => Promise<string>;
  now?: () => number;
}): Authenticator {
  const { config, readSecret, now } = options;
  async function readTokens(references: readonly SecretReference[]): Promise<readonly string[]> {
    const tokens = await Promise.all(references.map((reference) => readSecret(reference)));
    if (tokens.some((token) => token.length < minTokenLength)) throw new TokenTooShort();
    return tokens;
  }

  switch (config.type) {
    case "none":
      return createNoneAuthenticator();
    case "bearer":
      return createBearerAuthenticator({
        readTokens: cacheTokens({ readTokens: () => readTokens(config.tokens), now }),
      });
    case "jwt":
      return createJwtAuthenticator({ issuers: config.issuers });
    case "web-identity":
      return createWebIdentityAuthenticator(config);
    case "platform":
      return createPlatformAuthenticator();
  }
}

/** All tokens identify the same principal, so that one can replace another. */
export function createBearerAuthenticator(options: {
  readTokens: () => Promise<readonly string[]>;
}): Authenticator {
  const { readTokens } = options;
  return {
    kind: "bearer",
    async authenticate(request) {
      const sentToken = readBearerToken(request);
      if (sentToken === undefined) return undefined;
      const digest = digestToken(sentToken);
      // Compares every token, so that the time reveals nothing.
      const matches = (await readTokens()).filter((token) =>
        timingSafeEqual(digestToken(token), digest),
      );
      return matches.length > 0 ? "bearer" : undefined;
    },
  };
}

function digestToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** The longest time until a rotated token takes effect. */
const maxAgeMs = 30_000;
/** The pause after a failed read, so that the secret store is not overloaded. */
const afterFailureMs = 2000;

/**
 * Caches the configured tokens, so that a flood of wrong tokens does not become a flood of reads. Expired tokens are not used: if the read
 * fails, the call rejects, and the failure is cached too.
 */
function cacheTokens(request: {
  readTokens: () => Promise<readonly string[]>;
  now?: (() => number) | undefined;
}): () => Promise<readonly string[]> {
  const { readTokens, now = Date.now } = request;
  const load = async () => ({ value: await readTokens(), keepMs: maxAgeMs });
  const cache = createCachedValue({
    load: pauseAfterFailure({ load, now, pauseMs: () => afterFailureMs }),
    now,
  });
  return async () => cache.get();
}
