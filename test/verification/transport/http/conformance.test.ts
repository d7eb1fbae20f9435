import { noAuthorizer } from "../../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createHttpsTransport } from "../../../../lambdas/verification/transport/http/transport.ts";
import { describeTransport } from "../../../conformance/transport.ts";
import { startExecutionPeer } from "../../../doubles/execution-peer.ts";

describeTransport({
  name: "https",
  unsupported: {},
  async open({ script, maxResponseBytes, unreachable }) {
    const { url, calls, close } = await startExecutionPeer({ script });
    if (unreachable) await close();
    const transport = createHttpsTransport({ url, authorizer: noAuthorizer, maxResponseBytes });
    return { transport, calls, close: unreachable ? async () => {} : close };
  },
});
