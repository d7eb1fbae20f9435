/** A server that requests client certificates, and keeps who connected. */
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Authority } from "./certificates.ts";

export type TlsPeer = {
  url: string;
  port: number;
  /** Each client's common name. Undefined without a certificate. */
  clients: (string | undefined)[];
  /** The number of established connections. */
  handshakes: number;
  /** The status of the next responses. */
  status: number;
  close(): Promise<void>;
};

/**
 * `authority` issues its own certificate and those of its clients. `required`: the handshake fails without a valid client
 * certificate. Otherwise the request comes through, and the peer itself answers 403.
 */
export async function startTlsPeer({
  authority,
  required = true,
  maxVersion = "TLSv1.3",
}: {
  authority: Authority;
  required?: boolean;
  maxVersion?: "TLSv1.2" | "TLSv1.3";
}): Promise<TlsPeer> {
  const own = await authority.issue({ name: "peer" });
  const sockets = new Set<Socket>();
  const server = createServer({
    ...own,
    ca: authority.ca,
    requestCert: true,
    rejectUnauthorized: required,
    maxVersion,
  });
  const peer: TlsPeer = {
    url: "",
    port: 0,
    clients: [],
    handshakes: 0,
    status: 200,
    async close() {
      const closing = Promise.withResolvers<void>();
      server.close(() => closing.resolve());
      for (const socket of sockets) socket.destroy();
      await closing.promise;
    },
  };
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.on("secureConnection", () => {
    peer.handshakes += 1;
  });
  server.on("request", (request, response) => {
    const socket = request.socket as TLSSocket;
    peer.clients.push(socket.getPeerCertificate().subject?.CN as string | undefined);
    request.resume();
    response
      .writeHead(socket.authorized ? peer.status : 403, { "content-type": "application/json" })
      .end("{}");
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  peer.port = (server.address() as AddressInfo).port;
  peer.url = `https://127.0.0.1:${peer.port}`;
  return peer;
}
