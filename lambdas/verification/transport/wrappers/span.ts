/** A span around every attempt, by the semantic conventions of JSON-RPC; the peer is told of it as the caller. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { SpanStart, Spans } from "../../../shared/telemetry/spans.ts";
import type { RunningCall, Wrapper } from "./wrapper.ts";

/** Where the calls go, as far as that is known before the first one. */
export type Peer = { destination: string; address?: string | undefined; port?: number | undefined };

export function span({ spans, peer }: { spans: Spans; peer: Peer }): Wrapper {
  return (next) => (call) =>
    spans.within(start({ call, peer }), async (span) => {
      try {
        return await next({ ...call, trace: span.trace, span });
      } catch (thrown) {
        const { code } = SekishoError.from(thrown);
        span.set({ "rpc.response.status_code": code === undefined ? undefined : String(code) });
        throw thrown;
      }
    });
}

function start({ call, peer }: { call: RunningCall; peer: Peer }): SpanStart {
  return {
    name: call.method,
    kind: "client",
    trace: call.trace,
    attributes: {
      "rpc.system.name": "jsonrpc",
      "rpc.method": call.method,
      "jsonrpc.protocol.version": "2.0",
      "jsonrpc.request.id": call.id,
      "server.address": peer.address,
      "server.port": peer.port,
      "sekisho.request_id": call.requestId,
      "sekisho.destination": peer.destination,
      "sekisho.attempt": call.attempt,
    },
  };
}
