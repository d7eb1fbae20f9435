/** Tells failures to connect from all other failures of `fetch`: no address, no connection, no TLS, so nothing was sent. */
import { subscribe } from "node:diagnostics_channel";

/**
 * Codes do not suffice: a TLS error, or a reset, may come in the handshake or in the middle of an answer. Undici, which
 * is Node's `fetch`, publishes those of the first kind (https://undici.nodejs.org/#/docs/api/DiagnosticsChannel).
 */
const published = new WeakSet<object>();
subscribe("undici:client:connectError", (message) => {
  published.add((message as { error: Error }).error);
});

/** `thrown` or any of its causes. */
export function isConnectError(thrown: unknown): boolean {
  if (typeof thrown !== "object" || thrown === null) return false;
  return published.has(thrown) || ("cause" in thrown && isConnectError(thrown.cause));
}
