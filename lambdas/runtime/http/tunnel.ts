/**
 * Finds the way of a connection that leaves through a proxy. Every connection is direct unless the entry of the process has called
 * `useProxies` (`proxy.ts`). The command line and the container do; the functions on AWS need no proxy.
 */
import type { Socket } from "node:net";

/** `port` is empty or missing for the default port of the protocol. A URL is a target. */
export type Target = {
  protocol: string;
  hostname: string;
  port?: string | number | null | undefined;
};

/** Opens a connection to the target, without TLS of its own. Rejects with a ProxyError. */
export type Tunnel = (limits: { timeoutMs: number }) => Promise<Socket>;

type FindTunnel = (target: Target) => Tunnel | undefined;
let find: FindTunnel | undefined;

/** Holds for the whole process, like a proxy of the environment itself. */
export function setTunnels(tunnels: FindTunnel): void {
  find = tunnels;
}

/** Undefined if the target is reached directly. */
export function findTunnel(target: Target): Tunnel | undefined {
  return find?.(target);
}

/** The proxy opened no connection, so nothing was sent. The message names the proxy without its password, and says what to do. */
export class ProxyError extends Error {
  override name = "ProxyError";
  readonly code = "ERR_PROXY";
}

const maxCauses = 8;

/** Returns the ProxyError among the causes of an error. Compares names, because a bundled agent has a class of its own. */
export function findProxyError(error: unknown): Error | undefined {
  let next = error;
  for (let depth = 0; next instanceof Error && depth < maxCauses; depth += 1) {
    if (next.name === "ProxyError") return next;
    // Slack's client keeps the cause in a field of its own.
    next = next.cause ?? ("original" in next ? next.original : undefined);
  }
  return undefined;
}
