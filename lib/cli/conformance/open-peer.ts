/** Opens the endpoint under test: a destination of the configuration, reached as its owner and as strangers. */
import { randomBytes } from "node:crypto";
import { authorizerOf } from "../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../lambdas/shared/config/destination-schema.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { createBearerAuthorizer } from "../../../lambdas/verification/transport/authorizer/token-authorizer.ts";
import { createHttpsTransport } from "../../../lambdas/verification/transport/http/transport.ts";
import { openDestination } from "../../local/open-destination.ts";
import { createPeerUnderTest, type PeerUnderTest, type Strangers } from "./peer.ts";

export type OpenedPeerUnderTest = { peer: PeerUnderTest; close(): Promise<void> };

export async function openPeerUnderTest({
  destination,
  name,
  sessionId,
  timeoutMs,
  signal,
  ...dependencies
}: {
  config: Config;
  destination: Destination;
  name: string;
  directory: string;
  executionPort: number;
  log: Log;
  sessionId: string;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<OpenedPeerUnderTest> {
  const opened = await openDestination({ ...dependencies, name });
  const strangers = strangersTo(destination);
  const { transport } = opened;
  const { dialect } = destination;
  const authorizer = authorizerOf(destination);
  return {
    peer: createPeerUnderTest({ transport, strangers, authorizer, dialect, sessionId, timeoutMs, signal }),
    async close() {
      await opened.close();
      if (typeof strangers === "string") return;
      await strangers.nobody.close?.();
      await strangers.impostor.close?.();
    },
  };
}

/** Or why there can be none: a peer that asks for nothing cannot refuse anyone. */
function strangersTo(destination: Destination): Strangers | string {
  if (destination.transport !== "https") return `callers over ${destination.transport} are known by other means`;
  const { url, authorizer } = destination;
  if (url === undefined || authorizer.type === "none") return "no credentials were given (--auth)";
  if (authorizer.type === "mtls") return "without a client certificate there is no connection to judge";
  const readToken = async () => randomBytes(32).toString("hex");
  return {
    nobody: createHttpsTransport({ url, authorizer: { authorize: () => ({}) } }),
    impostor: createHttpsTransport({ url, authorizer: createBearerAuthorizer({ readToken }) }),
  };
}
