/** POST to a URL that somebody else chose: only to public addresses, and of the answer only the head is read. */

import { requestOnce } from "./public-fetch.ts";
import { createReach, type ReachOptions } from "./reach.ts";

/** `retryAfter` is the header's own text. */
export type PostAnswer = { status: number; retryAfter: string | undefined };

/** `timeoutMs` is for all of it: the name, the connection and the head of the answer. */
export type PublicPost = (request: {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<PostAnswer>;

/**
 * Names, addresses and time are as `createReach` says. A redirect is an answer like any other, and not followed.
 *
 * Rejects with a SekishoError: `permission_denied` for a URL or an address that is not for everybody, `invalid_response` for
 * what is no HTTP, and `unavailable` where no answer came; or with the signal's reason where the caller gave up.
 */
export function createPublicPost(options: ReachOptions = {}): PublicPost {
  const reach = createReach(options);
  return ({ headers, body, ...request }) =>
    reach({
      ...request,
      work: (target) =>
        requestOnce({
          ...target,
          method: "POST",
          headers: { ...headers, "content-length": Buffer.byteLength(body) },
          body,
          read: ({ statusCode: status = 0, headers: { "retry-after": retryAfter } }) => ({ status, retryAfter }),
        }),
    });
}
