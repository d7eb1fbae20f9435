/** Lets in who is on this machine. */
import { isLoopbackHost } from "../../../../contracts/methods.ts";
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
