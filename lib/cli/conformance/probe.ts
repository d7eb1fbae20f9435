/** One look before the cases: is there anything at all that could keep the contract? */

import { hasReason, readPeerError } from "./expect.ts";
import type { PeerUnderTest } from "./peer.ts";
import type { PeerAnswer } from "./peer-answer.ts";

/** Resolves to why no case can be run, for a person; undefined where they can. No agent is run for it. */
export async function probePeer({ peer, id }: { peer: PeerUnderTest; id: string }): Promise<string | undefined> {
  const answer = await peer.call({ method: "sekisho.no_such_method", params: {}, id });
  return answer.response === undefined ? withoutResponse(answer) : withoutRights({ answer, peer });
}

function withoutResponse({ failure, status, came }: PeerAnswer): string | undefined {
  if (failure === "unavailable" || failure === "late") return `It cannot be reached: ${came}.`;
  if (failure === "no_credential") return `No credentials for it could be had. ${came}`;
  if (failure === "unauthenticated") return "What was given is no credential that could be sent. See --auth.";
  if (status === 502 || status === 503 || status === 504) return `It is not available: ${came}.`;
  if (status === 404 || status === 405) return `There is no Execution endpoint at this address: ${came}.`;
  if (status === 401 || status === 403) return `It refuses the credentials: ${came}. See --auth.`;
  return undefined;
}

function withoutRights({ answer, peer: { dialect } }: { answer: PeerAnswer; peer: PeerUnderTest }): string | undefined {
  const error = readPeerError(answer);
  const isRefused =
    error !== undefined &&
    (["unauthenticated", "permission_denied"] as const).some((reason) => hasReason({ error, reason, dialect }));
  return isRefused ? `It refuses the credentials: ${answer.came}. See --auth.` : undefined;
}
