/** Who calls. Asked before anything of a body is read; fails closed. */
import { hash, timingSafeEqual } from "node:crypto";
import { isLoopbackHost } from "../../../contracts/methods.ts";
import type { Exchange } from "./exchange.ts";

/** The scope of tasks: one principal never sees another's. */
type Principal = string;

type Asked = Pick<Exchange, "header" | "platformPrincipal">;

export type Authenticator = {
  kind: "none" | "bearer" | "platform";
  /** Undefined for everyone who is not to be let in. */
  authenticate(request: Asked): Promise<Principal | undefined>;
};

/**
 * Anyone who can connect, which is why a server refuses it beyond loopback. But no page in a browser: those send an
 * `Origin`, or a `Host` that only DNS made point here.
 */
export function noAuthenticator(): Authenticator {
  return {
    kind: "none",
    async authenticate({ header }) {
      const hostname = header("host")
        ?.toLowerCase()
        .replace(/:\d{1,5}$/, "");
      const isLocal = hostname === undefined || isLoopbackHost(hostname);
      return isLocal && header("origin") === undefined ? "anyone" : undefined;
    },
  };
}

/** RFC 6750, section 2.1. Several tokens are one principal while one replaces the other; they are read anew for every request. */
export function bearerAuthenticator({ readTokens }: { readTokens: () => Promise<readonly string[]> }): Authenticator {
  return {
    kind: "bearer",
    async authenticate({ header }) {
      const [, given] = /^Bearer +([^\s]+)$/i.exec(header("authorization") ?? "") ?? [];
      if (given === undefined) return undefined;
      const digest = digestOf(given);
      // Every token is compared, so that the time taken says nothing.
      const matches = (await readTokens()).filter((token) => timingSafeEqual(digestOf(token), digest));
      return matches.length > 0 ? "bearer" : undefined;
    },
  };
}

/** The platform in front of the entry lets nobody in whom it does not know, and the entry passes on who it is. */
export function platformAuthenticator(): Authenticator {
  return { kind: "platform", authenticate: async ({ platformPrincipal }) => platformPrincipal };
}

function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
