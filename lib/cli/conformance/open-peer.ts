/** Opens the endpoint under test with its own credentials and as unknown callers, and checks that it can be tested at all. */
import { randomBytes, randomUUID } from "node:crypto";
import { authorizerOf } from "../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../lambdas/shared/config/destination-schema.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { createBearerAuthorizer } from "../../../lambdas/verification/transport/authorizer/token-authorizer.ts";
import { createHttpsTransport } from "../../../lambdas/verification/transport/http/transport.ts";
import { openDestination } from "../../local/open-destination.ts";
import { hasReason } from "./expect.ts";
import { createPeerUnderTest, type PeerUnderTest, type Strangers } from "./peer.ts";

type PeerOptions = {
  config: Config;
  destination: Destination;
  name: string;
  directory: string;
  executionPort: number;
  log: Log;
  timeoutMs: number;
  signal: AbortSignal;
};

export async function openPeerUnderTest(
  options: PeerOptions,
): Promise<{ peer: PeerUnderTest; close(): Promise<void> }> {
  const { destination, name, timeoutMs, signal, ...dependencies } = options;
  const { transport, close } = await openDestination({ ...dependencies, name });
  const strangers = openStrangers(destination);
  const { dialect } = destination;
  const authorizer = authorizerOf(destination);
  const sessionId = `conformance-${randomUUID()}`;
  return {
    peer: createPeerUnderTest({ transport, strangers, authorizer, dialect, sessionId, timeoutMs, signal }),
    async close() {
      await close();
      if (typeof strangers === "string") return;
      await strangers.nobody.close?.();
      await strangers.impostor.close?.();
    },
  };
}

/** Returns a text that says why there are none: a peer that asks for no credentials cannot refuse anyone. */
function openStrangers(destination: Destination): Strangers | string {
  if (destination.transport !== "https")
    return `the transport ${destination.transport} authenticates callers by itself`;
  const { url, authorizer } = destination;
  if (url === undefined || authorizer.type === "none") return "no credentials were given (--auth)";
  if (authorizer.type === "mtls")
    return "without a client certificate there is no connection, so there is no answer to check";
  const readToken = async () => randomBytes(32).toString("hex");
  return {
    nobody: createHttpsTransport({ url, authorizer: { authorize: () => ({}) } }),
    impostor: createHttpsTransport({ url, authorizer: createBearerAuthorizer({ readToken }) }),
  };
}

/** Resolves to why no case can be run, and to undefined where cases can be run. Runs no agent. */
export async function probePeer(peer: PeerUnderTest): Promise<string | undefined> {
  const answer = await peer.call({ method: "sekisho.no_such_method", params: {} });
  const { failure, status, came } = answer;
  const refused = `It refuses the credentials: ${came}. See --auth.`;
  if (answer.response !== undefined) {
    return hasReason(answer, ["unauthenticated", "permission_denied"]) ? refused : undefined;
  }
  if (failure === "unavailable" || failure === "late") return `It cannot be reached: ${came}.`;
  if (failure === "no_credential") return `Its credentials could not be obtained. ${came}`;
  if (failure === "unauthenticated") return "The given credential cannot be sent. See --auth.";
  if (status === 502 || status === 503 || status === 504) return `It is not available: ${came}.`;
  if (status === 404 || status === 405) return `There is no Execution endpoint at this address: ${came}.`;
  if (status === 401 || status === 403) return refused;
  return undefined;
}
