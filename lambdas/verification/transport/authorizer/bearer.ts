/** A bearer token (RFC 6750, section 2.1) that is kept until the peer refuses it. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Authorizer } from "./authorizer.ts";

/** Rejects with `unauthenticated` for what is no token; the message never holds it. */
export function createBearerAuthorizer({ readToken }: { readToken: () => Promise<string> }): Authorizer {
  let kept: string | undefined;
  return {
    async authorize() {
      const token = kept ?? (await readToken());
      if (!/^[\x21-\x7e]+$/.test(token)) throw new SekishoError("unauthenticated");
      kept = token;
      return { authorization: `Bearer ${token}` };
    },
    refresh() {
      kept = undefined;
    },
  };
}
