/** Lets in whoever has a token that both sides know. */
import { hash, timingSafeEqual } from "node:crypto";
import type { Authenticator } from "./authenticator.ts";
import { bearerTokenOf } from "./bearer-token.ts";

/** Several tokens are one principal while one replaces the other; they are read anew for every request. */
export function bearerAuthenticator({ readTokens }: { readTokens: () => Promise<readonly string[]> }): Authenticator {
  return {
    kind: "bearer",
    async authenticate(request) {
      const given = bearerTokenOf(request);
      if (given === undefined) return undefined;
      const digest = digestOf(given);
      // Every token is compared, so that the time taken says nothing.
      const matches = (await readTokens()).filter((token) => timingSafeEqual(digestOf(token), digest));
      return matches.length > 0 ? "bearer" : undefined;
    },
  };
}

function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
