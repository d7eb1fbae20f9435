import { Agent } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sendOnce } from "../../../../lambdas/verification/transport/http/transport.ts";
import { type Authority, createAuthority } from "../../../doubles/issuers/certificates.ts";
import { startTlsPeer, type TlsPeer } from "../../../doubles/issuers/tls-peer.ts";

let authority: Authority;
let peer: TlsPeer;
beforeAll(async () => {
  authority = await createAuthority("an authority");
  peer = await startTlsPeer({ authority });
});
afterAll(() => peer.close());

function send({ tls, agent = new Agent() }: { tls: { cert?: string; key?: string }; agent?: Agent }) {
  return sendOnce({
    target: {
      protocol: "https:",
      hostname: "127.0.0.1",
      port: peer.port,
      method: "POST",
      agent,
      ca: authority.ca,
      ...tls,
    },
    headers: {},
    body: Buffer.from("{}"),
    signal: AbortSignal.timeout(25_000),
    maxResponseBytes: 1000,
    nowMs: 0,
  });
}

describe("one POST to a peer that asks for a certificate", () => {
  it("is certainly not delivered where the peer says that it took none, although that comes after we may write", async () => {
    // An alert of the handshake's end in TLS 1.3, and of its midst in TLS 1.2.
    for (const maxVersion of ["TLSv1.3", "TLSv1.2"] as const) {
      const agent = new Agent({ maxVersion });
      await expect(send({ tls: {}, agent })).rejects.toMatchObject({ reason: "unavailable", undelivered: true });
    }
    expect(peer.clients).toEqual([]);
  });

  it("gets through with one of the peer's authority", async () => {
    expect(await send({ tls: await authority.issue({ name: "alice" }) })).toMatchObject({ status: 200 });
    expect(peer.clients).toEqual(["alice"]);
  });

  it("is in doubt where the peer ends the connection without a word", async () => {
    const expired = await authority.issue({ name: "bob", notAfter: new Date(Date.now() - 1000) });
    await expect(send({ tls: expired })).rejects.toMatchObject({ reason: "ambiguous", undelivered: false });
  });
});
