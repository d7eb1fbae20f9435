import { createInProcessTransport } from "@sekisho/verification/transport/in-process/transport.ts";
import { createPeer } from "../../../doubles/execution-peer.ts";
import { describeTransport } from "../../../tables/transport.ts";

describeTransport({
  name: "in-process",
  unsupported: { connection: "A function call has no connection that could be refused." },
  async open({ script, maxResponseBytes }) {
    const { handle, calls } = createPeer({ script });
    return {
      transport: createInProcessTransport({ handle, maxResponseBytes }),
      calls,
      async close() {},
    };
  },
});
