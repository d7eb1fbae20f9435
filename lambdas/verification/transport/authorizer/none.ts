/** No credentials: for a peer on this machine only. */
import { SekishoError } from "../../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../../contracts/methods.ts";
import type { Authorizer } from "./authorizer.ts";

/** Throws `unauthenticated` for any other host, before a byte is sent. */
export const noAuthorizer: Authorizer = {
  authorize({ url }) {
    if (!isLoopbackHost(url.hostname)) throw new SekishoError("unauthenticated");
    return {};
  },
};
