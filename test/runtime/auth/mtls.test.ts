import { inspect } from "node:util";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { createMtlsAuthorizer } from "@sekisho/runtime/auth/mtls.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import {
  type Authority,
  type Certified,
  createAuthority,
} from "../../doubles/issuers/certificates.ts";
import { startTlsPeer } from "../../doubles/issuers/tls-peer.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { addCredentials, movableClock } from "./sample.ts";

let authority: Authority;
let alice: Certified;
let bob: Certified;
let stranger: Certified;
beforeAll(async () => {
  authority = await createAuthority("an authority");
  alice = await authority.issue({ name: "alice" });
  bob = await authority.issue({ name: "bob" });
  stranger = await (await createAuthority("another authority")).issue({ name: "stranger" });
});

/** The store of secrets, which may be rotated, or be down. */
function storeOf(certificate: Certified) {
  const store = { ...certificate, ca: authority.ca, isDown: false, reads: 0 };
  const reader = (name: "cert" | "key" | "ca") => async () => {
    if (name === "cert") store.reads += 1;
    if (store.isDown) throw new Error("the store is down");
    return store[name];
  };
  const { clock, cacheOptions } = movableClock();
  const readers = { readCertificate: reader("cert"), readKey: reader("key"), readCa: reader("ca") };
  return {
    store,
    clock,
    authorizer: createMtlsAuthorizer({ ...readers, ...cacheOptions }),
    readers,
  };
}

async function setUp({ certified: client = alice, required: isRequired = true } = {}) {
  const peer = closeAfterTest(await startTlsPeer({ authority, required: isRequired }));
  const { store, clock, authorizer } = storeOf(client);
  const transport = createHttpsTransport({ url: peer.url, authorizer });
  closeAfterTest(transport);
  const send = () =>
    transport.send({
      body: Buffer.from("{}"),
      sessionId: "s".repeat(33),
      signal: hangSignal(),
      trace: createTrace(),
    });
  return { peer, store, clock, send };
}

describe("the mtls authorizer", () => {
  it("presents its certificate and keeps the connection", async () => {
    const { peer, store, send } = await setUp();
    expect([await send(), await send()]).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(peer.clients).toEqual(["alice", "alice"]);
    expect([peer.handshakes, store.reads]).toEqual([1, 1]);
  });

  it("presents a rotated certificate after five minutes on a new connection", async () => {
    const { peer, store, clock, send } = await setUp();
    await send();
    Object.assign(store, bob);
    await send();
    clock.nowMs += 301_000;
    await send();
    expect(peer.clients).toEqual(["alice", "alice", "bob"]);
    expect(peer.handshakes).toBe(2);
  });

  it("keeps using the cached certificate while the store is down", async () => {
    const { peer, store, clock, send } = await setUp();
    await send();
    store.isDown = true;
    clock.nowMs += 3600_000;
    expect(await send()).toMatchObject({ status: 200 });
    expect(peer.clients).toEqual(["alice", "alice"]);
  });

  it("reads a rotated certificate at the call after a failed handshake", async () => {
    const { peer, store, send } = await setUp({ certified: stranger });
    // A peer that ends the connection without a word may have read the request.
    await expect(send()).rejects.toMatchObject({
      reason: expect.stringMatching(/^(ambiguous|unavailable)$/),
    });
    Object.assign(store, alice);
    expect(await send()).toMatchObject({ status: 200 });
    expect(peer.clients).toEqual(["alice"]);
  });

  it("reads a rotated certificate at once after a 401 and at the next call after a 403", async () => {
    const { peer, store, send } = await setUp();
    peer.status = 401;
    await send();
    expect([peer.clients.length, store.reads]).toEqual([2, 2]);
    peer.status = 403;
    expect(await send()).toMatchObject({ status: 403 });
    Object.assign(store, bob);
    peer.status = 200;
    await send();
    expect(peer.clients).toEqual(["alice", "alice", "alice", "bob"]);
  });

  it("passes on the response of a peer that refuses a certificate by its status", async () => {
    const { send } = await setUp({ certified: stranger, required: false });
    expect(await send()).toMatchObject({ status: 403 });
  });

  it("trusts only servers of the configured authority", async () => {
    const { store, send } = await setUp();
    store.ca = stranger.cert;
    await expect(send()).rejects.toMatchObject({ reason: "unavailable", certainty: "undelivered" });
  });

  it.each<[string, () => Partial<Certified>]>([
    ["no certificate", () => ({ cert: "not a certificate" })],
    ["no key", () => ({ key: "not a key" })],
    ["the key of another certificate", () => ({ key: bob.key })],
  ])(
    "refuses to connect with %s and keeps certificate and key out of the error",
    async (_what, over) => {
      const { store, authorizer } = storeOf(alice);
      Object.assign(store, over());
      const error = await addCredentials(authorizer).catch((error: unknown) => error);
      expect(error).toMatchObject({
        reason: "unauthenticated",
        cause: { code: expect.stringMatching(/^ERR_OSSL_/) },
      });
      const lines = `${store.cert}${store.key}`
        .split("\n")
        .filter((line) => !line.startsWith("-----") && line !== "");
      expect(lines.filter((line) => inspect(error, { depth: 20 }).includes(line))).toEqual([]);
    },
  );

  it("refuses an address without TLS", async () => {
    const { authorizer } = storeOf(alice);
    await expect(addCredentials(authorizer, "http://127.0.0.1:1/")).rejects.toMatchObject({
      reason: "unauthenticated",
    });
  });
});
