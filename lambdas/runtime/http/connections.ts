/** Keeps connections to peers. Each is an undici client that carries one request at a time, so that its state is always known. */
import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import { type Connector, createConnector } from "./connector.ts";
import { createInterimFilter } from "./interim-responses.ts";

/** A client certificate in PEM. `ca` replaces the default certificate authorities. */
export type ClientCertificate = {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
};

export type Connection = {
  /** Sends one request. */
  dispatch: Dispatcher["dispatch"];
  /** The first error of the socket. Undici may report a later one, such as the end of the connection after a TLS alert. */
  firstError(): Error | undefined;
  /** Makes the connection available to the next request, or closes it. */
  release(): void;
  /** Closes the connection at once, also one that is being opened. */
  destroy(): void;
};

export type Connections = {
  /** Takes an idle connection, or a new one, which opens with its first request. */
  take(peer: { origin: string; certificate: ClientCertificate | undefined }): Connection;
  /** Closes all connections. */
  close(): void;
};

type Peer = {
  certificate: ClientCertificate | undefined;
  connector: Connector;
  idle: Connection[];
};

/** `connectTimeoutMs` limits DNS, the connection and TLS together, and a tunnel through a proxy before TLS. */
export function createConnections({ connectTimeoutMs }: { connectTimeoutMs: number }): Connections {
  const peers = new Map<string, Peer>();
  const open = new Set<Connection>();

  /** A connection belongs to the certificate that it was opened with, so another certificate makes another peer. */
  function findPeer(origin: string, certificate: ClientCertificate | undefined): Peer {
    const knownPeer = peers.get(origin);
    if (knownPeer !== undefined && isSameCertificate(knownPeer.certificate, certificate))
      return knownPeer;
    // All connections to the peer share it, because it keeps the TLS sessions.
    const connector = createConnector({
      allowH2: false,
      timeout: connectTimeoutMs,
      ...certificate,
    });
    const peer = { certificate, connector, idle: [] };
    peers.set(origin, peer);
    for (const connection of knownPeer?.idle ?? []) connection.destroy();
    return peer;
  }

  function createConnection(origin: string, peer: Peer): Connection {
    let socket: Socket | undefined;
    let firstError: Error | undefined;
    const interim = createInterimFilter();
    const connect: Client.Options["connect"] = (options, callback) => {
      firstError = undefined;
      peer.connector(options, callback, (openedSocket) => {
        socket = openedSocket.once("error", (error) => {
          firstError = error;
        });
        interim.attach(socket);
        if (!open.has(connection)) socket.destroy(createClosedError());
      });
    };
    const client = new Client(origin, { ...clientOptions, connect });
    const connection: Connection = {
      dispatch(request, handler) {
        interim.expectResponse();
        return client.dispatch(request, handler);
      },
      firstError: () => firstError,
      release() {
        // A peer that answered before it had read the whole request may never read the rest.
        const isWritten = socket?.writableLength === 0;
        if (isWritten && peers.get(origin) === peer) peer.idle.push(connection);
        else connection.destroy();
      },
      destroy() {
        open.delete(connection);
        socket?.destroy(createClosedError());
      },
    };
    open.add(connection);
    return connection;
  }

  return {
    take({ origin, certificate }) {
      const peer = findPeer(origin, certificate);
      return peer.idle.pop() ?? createConnection(origin, peer);
    },
    close() {
      peers.clear();
      for (const connection of open) connection.destroy();
    },
  };
}

function createClosedError(): Error {
  return new Error("The connection was closed on this side.");
}

const clientOptions: Client.Options = {
  // Shorter than the idle time of common peers (node:http: 5 s), because a write into a closing connection is ambiguous.
  keepAliveTimeout: 4000,
  // The peer's `Keep-Alive` header can only shorten it, to a second less than it says.
  keepAliveMaxTimeout: 4000,
  keepAliveTimeoutThreshold: 1000,
  // The signal of each request limits its time.
  headersTimeout: 0,
  bodyTimeout: 0,
};

function isSameCertificate(
  a: ClientCertificate | undefined,
  b: ClientCertificate | undefined,
): boolean {
  return a === b || (a?.cert === b?.cert && a?.key === b?.key && a?.ca === b?.ca);
}
