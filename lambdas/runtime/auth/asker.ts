/** Sends the asker's token: as the bearer (the authorizer `asker`), or in a header of its own beside another authorizer's credentials. */
import type { AskerAudience, AskerTokens } from "../asker/asker.ts";
import type { AddedCredentials, Authorizer, OutgoingRequest } from "./authorizer.ts";

type AskerOptions = { tokens: AskerTokens; to: AskerAudience };

/** RFC 6750, section 2.1. A call without a person carries the zone's own token. */
export function createAskerAuthorizer({ tokens, to }: AskerOptions): Authorizer {
  return {
    async authorize(request) {
      return { headers: { authorization: `Bearer ${await issue({ tokens, to }, request)}` } };
    },
  };
}

/** Adds the header to calls that have a person behind them. The other authorizer may sign it. */
export function withAskerHeader(
  options: AskerOptions & { authorizer: Authorizer; header: string },
): Authorizer {
  const { authorizer, header } = options;
  const { refresh } = authorizer;
  /** What the other authorizer returned, by which it knows its credentials again. */
  const plainCredentials = new WeakMap<AddedCredentials, AddedCredentials>();
  return {
    async authorize(request) {
      if (request.asker === undefined) return authorizer.authorize(request);
      const ownHeaders = { [header]: await issue(options, request) };
      const headers = { ...request.headers, ...ownHeaders };
      const credentials = await authorizer.authorize({ ...request, headers });
      const allCredentials = { ...credentials, headers: { ...credentials.headers, ...ownHeaders } };
      plainCredentials.set(allCredentials, credentials);
      return allCredentials;
    },
    ...(refresh && {
      refresh: (refused) => refresh(plainCredentials.get(refused) ?? refused),
    }),
  };
}

function issue({ tokens, to }: AskerOptions, { asker, body, signal }: OutgoingRequest) {
  return tokens.issue({ to, asker, body, signal });
}
