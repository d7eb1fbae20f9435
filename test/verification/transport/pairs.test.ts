/** Every carrier with every protocol, each through the conformance suite of transports once. */
import { expect } from "@jest/globals";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import type { A2aCarrier, BindingName } from "@sekisho/verification/transport/carrier.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { createInProcessTransport } from "@sekisho/verification/transport/in-process/transport.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { createA2aPeer } from "../../doubles/a2a-peer.ts";
import { startAgentCoreStub } from "../../doubles/agentcore-stub.ts";
import { createPeer, type Peer, type Script } from "../../doubles/execution-peer.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { describeTransport } from "../../tables/transport.ts";
import type { TransportUnderTest } from "../../tables/transport-case.ts";
import { credentials, runtimeArn } from "./agentcore/sample.ts";

type Protocol = {
  name: string;
  dialect: "zone" | "a2a";
  /** HTTP+JSON has paths, which only HTTPS can carry. Default: JSON-RPC. */
  binding?: BindingName;
  unsupported: TransportUnderTest["unsupported"];
  /** The peer, with the path for calls in its card. */
  serve(script: Script, path: string): Peer;
  speak(carrier: Transport & Partial<A2aCarrier>): Transport;
};

const a2a = (version: A2aVersion, binding: BindingName = "JSONRPC"): Protocol => ({
  name: `A2A ${version}${binding === "JSONRPC" ? "" : ` over ${binding}`}`,
  dialect: "a2a",
  binding,
  unsupported: {
    "extra-fields": "A2A's tasks have no place for a result's fields that nobody knows.",
    ...(binding === "HTTP+JSON" && {
      "response-ids": "A response over HTTP+JSON belongs to its request, and has no id.",
    }),
  },
  serve: (script, path) => createA2aPeer({ script, version, binding, path }),
  speak: (carrier) => createA2aTransport({ carrier: carrier as A2aCarrier }),
});

const protocols: readonly Protocol[] = [
  {
    name: "the contract",
    dialect: "zone",
    unsupported: {},
    serve: (script) => createPeer({ script }),
    speak: (carrier) => carrier,
  },
  a2a("1.0"),
  a2a("0.3"),
  a2a("1.0", "HTTP+JSON"),
  a2a("0.3", "HTTP+JSON"),
];

type Opened = { carrier: Transport & Partial<A2aCarrier>; close(): Promise<void> };

type CarrierUnderTest = {
  name: string;
  unsupported: TransportUnderTest["unsupported"];
  /** Not the path at which the carrier reaches the peer, where it takes the address in the card. */
  path: string;
  open(request: {
    protocol: Protocol;
    handle: Peer["handle"];
    maxResponseBytes: number;
    unreachable: boolean;
  }): Promise<Opened>;
};

const carriers: readonly CarrierUnderTest[] = [
  {
    name: "https",
    unsupported: {},
    path: "/a2a",
    async open({ protocol, handle, maxResponseBytes, unreachable }) {
      const { url, close } = await startWebServer({ handle: ({ request }) => handle(request) });
      if (unreachable) await close();
      const options = { authorizer: noAuthorizer, maxResponseBytes };
      const carrier =
        protocol.dialect === "zone"
          ? createHttpsTransport({ url, ...options })
          : createHttpsCarrier({ cardUrl: `${url}${agentCardPath}`, ...options });
      return { carrier: carrier as Opened["carrier"], close: unreachable ? async () => {} : close };
    },
  },
  {
    name: "agentcore",
    unsupported: {
      "http-status":
        "AgentCore answers 424 RuntimeClientError instead of any 4xx or 5xx of the container.",
    },
    path: "/",
    async open({ protocol, handle, maxResponseBytes, unreachable }) {
      const stub = await startAgentCoreStub({
        handle,
        runtimeArn,
        credentials,
        ...(protocol.dialect === "a2a" && { protocol: "A2A" }),
        // The platform keeps the version from the container otherwise, and then it is 0.3.
        allowedHeaders: protocol.name === "A2A 1.0" ? ["A2A-Version"] : [],
      });
      if (unreachable) await stub.close();
      const carrier = createAgentCoreTransport({
        runtimeArn,
        endpoint: stub.endpoint,
        credentials: async () => credentials,
        maxResponseBytes,
      });
      return {
        carrier,
        async close() {
          if (!unreachable) await stub.close();
          expect(stub.problems).toEqual([]);
        },
      };
    },
  },
  {
    name: "in-process",
    unsupported: { connection: "A function call has no connection that could be refused." },
    path: "/",
    async open({ handle, maxResponseBytes }) {
      return { carrier: createInProcessTransport({ handle, maxResponseBytes }), async close() {} };
    },
  },
];

for (const { name, unsupported, path, open } of carriers) {
  for (const protocol of protocols) {
    if (name !== "https" && protocol.binding === "HTTP+JSON") continue;
    describeTransport({
      name: `${name} carrier with ${protocol.name}`,
      dialect: protocol.dialect,
      unsupported: { ...unsupported, ...protocol.unsupported },
      async open({ script, ...options }) {
        const { handle, calls } = protocol.serve(script, path);
        const { carrier, close } = await open({ protocol, handle, ...options });
        return { transport: protocol.speak(carrier), calls, close };
      },
    });
  }
}
