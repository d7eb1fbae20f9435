/** What a check of a destination leaves behind: no session that goes on idling. */
import { describe, expect, it } from "@jest/globals";
import { probeDestination } from "../../../lambdas/verification/checks/probe.ts";
import type { Transport } from "../../../lambdas/verification/transport/transport.ts";

const peer = { dialect: "zone", address: "https://peer.example.com/", authorizer: "sigv4" } as const;

/** Answers every call with this status. */
function sessionPeer({ status }: { status: number }) {
  const sent = new Set<string>();
  const stopped: { sessionId: string; signal: AbortSignal }[] = [];
  const transport: Transport = {
    send: async ({ body, sessionId }) => {
      sent.add(sessionId);
      const { id } = JSON.parse(Buffer.from(body).toString("utf8"));
      const result = { openrpc: "1.3.2", info: { title: "A peer", version: "1" }, methods: [] };
      return { status, body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result })) };
    },
    stopSession: async (request) => void stopped.push(request),
  };
  return { transport, sent, stopped };
}

describe("a check stops its session", () => {
  it.each([
    { status: 200, health: "healthy" },
    { status: 503, health: "unhealthy" },
  ])("when the peer is $health", async ({ status, health }) => {
    const { transport, sent, stopped } = sessionPeer({ status });
    if (status !== 200) {
      const send = transport.send.bind(transport);
      transport.send = async (request) => ({ ...(await send(request)), body: Buffer.from("not JSON") });
    }
    const probed = await probeDestination({
      transport,
      timeoutMs: 5000,
      signal: new AbortController().signal,
      ...peer,
    });
    expect(probed.health).toBe(health);
    expect(stopped.map(({ sessionId }) => sessionId)).toEqual([...sent]);
  });

  it("and gives up when the function ends", async () => {
    const { transport, stopped } = sessionPeer({ status: 200 });
    const ending = new AbortController();
    await probeDestination({ transport, timeoutMs: 60_000, signal: ending.signal, ...peer });
    expect(stopped[0]?.signal.aborted).toBe(false);
    ending.abort();
    expect(stopped[0]?.signal.aborted).toBe(true);
  });
});
