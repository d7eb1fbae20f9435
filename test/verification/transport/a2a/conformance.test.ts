import { createA2aTransport } from "../../../../lambdas/verification/transport/a2a/transport.ts";
import { noAuthorizer } from "../../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { describeTransport } from "../../../conformance/transport.ts";
import { startA2aPeer } from "../../../doubles/a2a-peer.ts";

for (const version of ["1.0", "0.3"] as const) {
  describeTransport({
    name: `a2a (${version})`,
    dialect: "a2a",
    unsupported: { "extra-fields": "A2A's tasks have no place for a result's fields that nobody knows." },
    async open({ script, maxResponseBytes, unreachable }) {
      const { cardUrl, calls, close } = await startA2aPeer({ script, version });
      if (unreachable) await close();
      const transport = createA2aTransport({ cardUrl, authorizer: noAuthorizer, maxResponseBytes });
      return { transport, calls, close: unreachable ? async () => {} : close };
    },
  });
}
