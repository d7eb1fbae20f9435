/** A server that asks for a client's certificate, and tells who came. */
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Authority } from "./certificates.ts";

export type TlsPeer = {
  url: string;
  port: number;
  /** The common name of each request's client; undefined where it showed none. */
  clients: (string | undefined)[];
  /** Connections that came to be. */
  handshakes: number;
  /** What the next requests are answered with. */
  status: number;
  close(): Promise<void>;
};

/**
 * Its own certificate and those of its clients are of `authority`. `required`: without one, or with that of another, there is no
 * connection; else the request comes through, and the peer answers 403 itself.
 */
export async function startTlsPeer({
  authority,
  required = true,
}: {
  authority: Authority;
  required?: boolean;
}): Promise<TlsPeer> {
  const own = await authority.issue({ name: "peer" });
  const sockets = new Set<Socket>();
  const server = createServer({ ...own, ca: authority.ca, requestCert: true, rejectUnauthorized: required });
  const peer: TlsPeer = {
    url: "",
    port: 0,
    clients: [],
    handshakes: 0,
    status: 200,
    async close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      await closed.promise;
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
    response.writeHead(socket.authorized ? peer.status : 403, { "content-type": "application/json" }).end("{}");
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  peer.port = (server.address() as AddressInfo).port;
  peer.url = `https://127.0.0.1:${peer.port}`;
  return peer;
}
