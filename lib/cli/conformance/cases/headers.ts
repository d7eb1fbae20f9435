/** Cases of what travels beside a request: the trace, and the session that keeps a conversation in one place. */
import type { ConformanceCase } from "../case.ts";
import { expectError } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

export const headerCases: readonly ConformanceCase[] = [
  undisturbed({
    name: "headers/trace",
    level: "required",
    of: "traceparent and tracestate",
    trace: { traceparent, tracestate: "vendor=value,other=1" },
  }),
  undisturbed({
    name: "headers/malformed-trace",
    level: "optional",
    of: "a traceparent that is none",
    trace: { traceparent: "not-a-trace" },
  }),
  undisturbed({
    name: "headers/session",
    level: "required",
    of: "a session id of 100 characters",
    sessionId: "conformance-session-".padEnd(100, "Aa0_-"),
  }),
];

/** By a call that needs no agent. */
function undisturbed({
  name,
  level,
  of,
  ...beside
}: Pick<ConformanceCase, "name" | "level"> & { of: string } & Pick<
    PeerRequest,
    "trace" | "sessionId"
  >): ConformanceCase {
  return {
    name,
    level,
    expects: `${of}: the same answer as without`,
    async check({ peer, newId }) {
      const id = newId();
      const body = JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} });
      const answer = await peer.send({ body, ...beside });
      return expectError({ answer, reasons: ["method_not_found"], ids: [id], dialect: peer.dialect });
    },
  };
}
