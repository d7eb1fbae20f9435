/** Opens connections for undici, through a proxy where there is one for the peer. */
import type { Socket } from "node:net";
import type { buildConnector as Undici } from "undici";
import buildConnector from "undici/lib/core/connect.js";
import { findTunnel } from "./tunnel.ts";

/** `onSocket` gets the socket before it is connected, or when the proxy has connected it. */
export type Connector = (
  options: Undici.Options,
  callback: Undici.Callback,
  onSocket?: (socket: Socket) => void,
) => void;

const defaultTimeoutMs = 10_000;

/** With a proxy, `timeout` limits the tunnel and TLS one after the other. TLS is with the peer, so its certificate is checked as without one. */
export function createConnector(options: Undici.BuildOptions): Connector {
  const connect = buildConnector(options);
  return (target, callback, onSocket = () => {}) => {
    const tunnel = findTunnel(target);
    if (tunnel === undefined) return onSocket(connect(target, callback));
    tunnel({ timeoutMs: options.timeout ?? defaultTimeoutMs }).then(
      (httpSocket) => {
        if (target.protocol === "https:")
          return onSocket(connect({ ...target, httpSocket }, callback));
        onSocket(httpSocket);
        callback(null, httpSocket);
      },
      (error: Error) => callback(error, null),
    );
  };
}
