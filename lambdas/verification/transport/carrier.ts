/**
 * The two seams below a destination: a carrier takes bytes to one peer and back, and a protocol decides what the bytes say. The zone
 * contract is sent as it is, so every carrier is also its transport. A2A needs what is here.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { HttpMethod } from "@sekisho/runtime/http/client.ts";
import type { TakeResponse } from "./read-events.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** The bindings of A2A that Sekisho speaks, by their names in cards. */
export type BindingName = "JSONRPC" | "HTTP+JSON";

/** One request of A2A, with the headers of its version. */
export type CarriedRequest = TransportRequest & {
  /** Default: POST. */
  method?: HttpMethod;
  /** The address in the card. A carrier that replaces it with its own `url` gets that. */
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Also reads a stream of events, up to its first JSON-RPC response, or as long as the function wants. */
  readsEvents: boolean | TakeResponse;
};

/** `version` is the highest that the caller reads. With `etag`, the peer may answer 304. */
export type CardRequest = {
  version: A2aVersion;
  etag: string | undefined;
  /** The session of the call that needs the card, which then finds its session warm. */
  sessionId: string;
  signal: AbortSignal;
};

export type CardResponse = {
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array;
  retryAfterMs?: number | undefined;
};

/** Rejects like `Transport.send`. */
export type A2aCarrier = Pick<Transport, "stopSession" | "close"> & {
  /** The address of the card, from which relative addresses in it are resolved, and whose origin they must have. */
  cardUrl: URL;
  /** The address of the agent, which replaces those in the card. */
  url: URL | undefined;
  /** The bindings that it can carry: one without paths carries JSON-RPC only. */
  bindings: readonly BindingName[];
  /** The limit for reading the card. */
  cardTimeoutMs: number;
  send(request: CarriedRequest): Promise<TransportResponse>;
  readCard(request: CardRequest): Promise<CardResponse>;
};

/** A carrier for both protocols. As it is, it is the transport of the zone contract. */
export type Carrier = Omit<A2aCarrier, "send"> & {
  send(request: TransportRequest & Partial<CarriedRequest>): Promise<TransportResponse>;
};

export const maxCardBytes = 256 * 1024;
