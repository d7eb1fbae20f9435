/**
 * Tells who calls, before a byte of the body is read, and fails closed. Two authenticators need no token: who is on this machine, and
 * whom the platform in front of the entry lets through.
 */

import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { Exchange } from "../http/exchange.ts";

/** The scope of tasks: one principal never sees another's. */
type Principal = string;

type Asked = Pick<Exchange, "header" | "platformPrincipal">;

export type Authenticator = {
  kind: AuthenticatorConfig["type"];
  /**
   * Undefined for everyone who is not to be let in. Rejects with `permission_denied` where it is known who calls and that
   * one may not, with `unauthenticated` where the log may say more than the answer, and with anything else where nothing can
   * be told for now.
   */
  authenticate(request: Asked): Promise<Principal | undefined>;
};

/** Header values are Latin-1: a character is a byte. */
const maxTokenBytes = 8 * 1024;
const scheme = "Bearer ";

/**
 * The token of a request, RFC 6750, section 2.1. Undefined where there is none, or where it is longer than any token that could be meant:
 * that is not looked at.
 */
export function bearerTokenOf({ header }: Asked): string | undefined {
  const value = header("authorization");
  if (value === undefined || value.length > maxTokenBytes + scheme.length) return undefined;
  return /^Bearer +([^\s]+)$/i.exec(value)?.[1];
}

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

/** The platform lets nobody through whom it does not know, and the entry passes on who it is. */
export function platformAuthenticator(): Authenticator {
  return {
    kind: "platform",
    async authenticate({ platformPrincipal }) {
      if (platformPrincipal !== undefined) return platformPrincipal;
      // Whom the platform does not vouch for cannot help it by sending something else.
      throw new SekishoError("permission_denied");
    },
  };
}
