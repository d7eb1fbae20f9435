/** Cases of authentication: who is not known gets nothing, not even an opinion about the body. */
import { type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { hasReason, readPeerError } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";

const createRequestBody = (id: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} });

export const authenticationCases: readonly ConformanceCase[] = [
  createStrangerCase({
    name: "authentication/missing",
    level: "required",
    of: "no credentials",
    as: "nobody",
    body: createRequestBody,
  }),
  createStrangerCase({
    name: "authentication/wrong",
    level: "required",
    of: "a bearer token that nobody gave out",
    as: "impostor",
    body: createRequestBody,
  }),
  createStrangerCase({
    name: "authentication/before-the-body",
    level: "optional",
    of: "no credentials and a body that is no JSON",
    as: "nobody",
    body: () => "{",
  }),
];

function createStrangerCase({
  name,
  level,
  of,
  as,
  body,
}: Pick<ConformanceCase, "name" | "level"> & {
  of: string;
  as: PeerRequest["as"] & string;
  body: (id: string) => string;
}): ConformanceCase {
  return {
    name,
    level,
    expects: `${of}: HTTP 401 or 403, or an error that says so`,
    async check({ peer, newId }) {
      if (peer.withoutStrangers !== undefined) throw new NotApplicable(peer.withoutStrangers);
      const answer = await peer.send({ body: body(newId()), as });
      const error = readPeerError(answer);
      const { dialect } = peer;
      const isRefused =
        error === undefined
          ? answer.response === undefined && (answer.status === 401 || answer.status === 403)
          : (["unauthenticated", "permission_denied"] as const).some((reason) => hasReason({ error, reason, dialect }));
      if (!isRefused) throw new Deviation(answer.came);
      return answer.came;
    },
  };
}
