/** Finds out whether there is an endpoint to test at all. */
import { hasReason } from "./expect.ts";
import type { Peer } from "./peer.ts";

/** Resolves to why no case can be run, and to undefined where cases can be run. Runs no agent. */
export async function probe(peer: Peer): Promise<string | undefined> {
  const answer = await peer.forCase("probe").call({ method: "sekisho.no_such_method", params: {} });
  const { failure, status, came, response } = answer;
  const refusalText = `It refuses the credentials: ${came}. See --auth.`;
  if (response !== undefined) {
    return hasReason(answer, ["unauthenticated", "permission_denied"]) ? refusalText : undefined;
  }
  if (failure === "no_connection" || failure === "late") return `It cannot be reached: ${came}.`;
  if (failure === "no_credential") return `Its credentials could not be obtained. ${came}`;
  if (status === 502 || status === 503 || status === 504) return `It is not available: ${came}.`;
  if (status === 404 || status === 405)
    return `There is no Execution endpoint at this address: ${came}.`;
  if (status === 401 || status === 403) return refusalText;
  return undefined;
}
