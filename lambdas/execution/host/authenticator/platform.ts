/** Lets in whom the platform in front of the entry lets through. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Authenticator } from "./authenticator.ts";

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
