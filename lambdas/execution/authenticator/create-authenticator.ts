/** Creates the authenticator that the configuration names. The one for bearer tokens is here too. */
import { hash, timingSafeEqual } from "node:crypto";
import { createCachedValue, pauseAfterFailure } from "../../shared/async/cache.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import { leastTokenLength } from "../../shared/config/secrets.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import {
  type Authenticator,
  createNoneAuthenticator,
  createPlatformAuthenticator,
  readBearerToken,
} from "../http/exchange.ts";
import { createJwtAuthenticator } from "./jwt.ts";
import { createWebIdentityAuthenticator } from "./web-identity.ts";

/** A token could be guessed. Nobody is let in until the configuration has longer ones. */
class TokenTooShort extends Error {
  override name = "TokenTooShort";
}

/** Tokens are read again after half a minute, so that a rotated one is seen. */
export function createAuthenticator({
  config,
  readSecret,
  now,
}: {
  config: AuthenticatorConfig;
  readSecret: (reference: SecretReference) => Promise<string>;
  now?: () => number;
}): Authenticator {
  async function readTokens(references: readonly SecretReference[]): Promise<readonly string[]> {
    const tokens = await Promise.all(references.map((reference) => readSecret(reference)));
    if (tokens.some((token) => token.length < leastTokenLength)) throw new TokenTooShort();
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

/** Several tokens are one principal while one replaces the other. */
export function createBearerAuthenticator({
  readTokens,
}: {
  readTokens: () => Promise<readonly string[]>;
}): Authenticator {
  return {
    kind: "bearer",
    async authenticate(request) {
      const given = readBearerToken(request);
      if (given === undefined) return undefined;
      const digest = digestToken(given);
      // Every token is compared, so that the time taken says nothing.
      const matches = (await readTokens()).filter((token) => timingSafeEqual(digestToken(token), digest));
      return matches.length > 0 ? "bearer" : undefined;
    },
  };
}

function digestToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** A rotated token counts after that time at most, and so long an old one goes on. */
const maxAgeMs = 30_000;
/** A store of secrets that fails is left alone that long. */
const afterFailureMs = 2000;

/**
 * Keeps the configured tokens for a short time, so that a flood of wrong tokens is no flood of reads. While they cannot be read,
 * nobody is let in by old ones: the call rejects, and that is kept too.
 */
function cacheTokens({
  readTokens,
  now = Date.now,
}: {
  readTokens: () => Promise<readonly string[]>;
  now?: (() => number) | undefined;
}): () => Promise<readonly string[]> {
  const load = async () => ({ value: await readTokens(), keepMs: maxAgeMs });
  const cached = createCachedValue({ load: pauseAfterFailure({ load, now, pauseMs: () => afterFailureMs }), now });
  return async () => cached.get();
}
