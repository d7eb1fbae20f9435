/** Lets in who is on this machine. */

import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import type { Authenticator } from "./authenticator.ts";

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

// Lets in whom the platform in front of the entry lets through.

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
