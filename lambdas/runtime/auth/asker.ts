/** Sends the asker's token: as the bearer (the authorizer `asker`), or in a header of its own beside another authorizer's credentials. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AskerAudience, AskerTokens } from "../asker/asker.ts";
import { elapsedMs } from "../async/cache.ts";
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

/** How long a token may wait for the other authorizer's credentials. More only passes where the process was frozen meanwhile. */
const maxWaitMs = 30_000;

/** Adds the header to calls that have a person behind them. The other authorizer may sign it. */
export function withAskerHeader(
  options: AskerOptions & { authorizer: Authorizer; header: string; now?: () => number },
): Authorizer {
  const { authorizer, header, now = Date.now } = options;
  const { refresh } = authorizer;
  /** What the other authorizer returned, by which it knows its credentials again. */
  const plainCredentials = new WeakMap<AddedCredentials, AddedCredentials>();
  return {
    async authorize(request) {
      if (request.asker === undefined) return authorizer.authorize(request);
      const ownHeaders = { [header]: await issue(options, request) };
      const issuedAtMs = now();
      const headers = { ...request.headers, ...ownHeaders };
      const credentials = await authorizer.authorize({ ...request, headers });
      if (elapsedMs(issuedAtMs, now()) >= maxWaitMs)
        throw new SekishoError("unavailable", { certainty: "undelivered" });
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
