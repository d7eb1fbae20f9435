import { expect } from "@jest/globals";
import { createAgentCoreTransport } from "../../../../lambdas/verification/transport/agentcore/transport.ts";
import { describeTransport } from "../../../conformance/transport.ts";
import { startAgentCoreStub } from "../../../doubles/agentcore-stub.ts";
import { createPeer } from "../../../doubles/execution-peer.ts";
import { credentials, runtimeArn } from "./sample.ts";

describeTransport({
  name: "agentcore",
  unsupported: {
    "http-status": "AgentCore answers 424 RuntimeClientError instead of any 4xx or 5xx of the container.",
  },
  async open({ script, maxResponseBytes, unreachable }) {
    const { handle, calls } = createPeer({ script });
    const stub = await startAgentCoreStub({ handle, runtimeArn, credentials });
    if (unreachable) await stub.close();
    const transport = createAgentCoreTransport({
      runtimeArn,
      endpoint: stub.endpoint,
      credentials: async () => credentials,
      maxResponseBytes,
    });
    return {
      transport,
      calls,
      async close() {
        if (!unreachable) await stub.close();
        expect(stub.problems).toEqual([]);
      },
    };
  },
});
