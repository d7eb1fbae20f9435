/** A bearer token (RFC 6750, section 2.1) that is kept until the peer refuses it. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { AddedHeaders, Authorizer } from "./authorizer.ts";

/** Rejects with `unauthenticated` for what is no token; the message never holds it. */
export function createBearerAuthorizer({ readToken }: { readToken: () => Promise<string> }): Authorizer {
  let kept: AddedHeaders | undefined;
  return {
    authorize: () => kept ?? read(),
    refresh() {
      kept = undefined;
    },
  };

  async function read(): Promise<AddedHeaders> {
    const token = await readToken();
    if (!/^[\x21-\x7e]+$/.test(token)) throw new SekishoError("unauthenticated");
    kept = { authorization: `Bearer ${token}` };
    return kept;
  }
}
