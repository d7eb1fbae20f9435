/** One POST over a kept connection of node:http(s), its body read up to a limit, and what its failure means. */
import { type Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { urlToHttpOptions } from "node:url";
import { SekishoError } from "../../../../contracts/errors.ts";
import { readCapped } from "../read-capped.ts";
import { parseRetryAfter } from "../retry-after.ts";
import type { TransportResponse } from "../transport.ts";
import { refusalOf } from "./refusal.ts";

export type SendOnceRequest = {
  agent: Agent;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  signal: AbortSignal;
  maxResponseBytes: number;
  nowMs: number;
};

/**
 * `unavailable` where nothing of the request was written: no address, no connection, no TLS, or the signal came first.
 * From the moment that a connection stands, every failure is `ambiguous`, also a kept connection that the peer closed
 * just then: nobody knows how much of the request it had read. What is not HTTP is `invalid_response`.
 */
export async function sendOnce(request: SendOnceRequest): Promise<TransportResponse & { status: number }> {
  const exchange = { written: false };
  try {
    const response = await headersOf({ ...request, exchange });
    return await readBody({ ...request, response });
  } catch (thrown) {
    if (thrown instanceof SekishoError) throw thrown;
    if (codeOf(thrown).startsWith("HPE_")) throw new SekishoError("invalid_response", { cause: thrown });
    throw new SekishoError(exchange.written ? "ambiguous" : "unavailable", { cause: thrown });
  }
}

/** Resolves at the response's headers. The signal ends the body as well. */
function headersOf({
  agent,
  url,
  headers,
  body,
  signal,
  exchange,
}: SendOnceRequest & { exchange: { written: boolean } }): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = send({
    ...urlToHttpOptions(url),
    method: "POST",
    agent,
    signal,
    headers: { ...headers, "content-length": body.byteLength },
  });
  request.once("socket", (socket) => {
    const markWritten = () => {
      exchange.written = true;
    };
    if (request.reusedSocket) markWritten();
    else socket.once(isTls(socket) ? "secureConnect" : "connect", markWritten);
  });
  request.once("response", resolve);
  request.on("error", reject);
  request.end(body);
  return promise;
}

/** Where the status tells of a failure, it decides even if the body cannot be read. */
async function readBody({
  response,
  maxResponseBytes,
  nowMs,
}: SendOnceRequest & { response: IncomingMessage }): Promise<TransportResponse & { status: number }> {
  const status = response.statusCode ?? 0;
  const retryAfterMs = parseRetryAfter({ header: response.headers["retry-after"], nowMs });
  try {
    const refusal = refusalOf({ status, headers: response.headers, maxBytes: maxResponseBytes });
    if (refusal !== undefined) throw refusal;
    return { status, retryAfterMs, body: await readCapped({ stream: response, maxBytes: maxResponseBytes }) };
  } catch (thrown) {
    response.destroy();
    if (status < 400) throw thrown;
    return { status, retryAfterMs, body: new Uint8Array() };
  }
}

function isTls(socket: object): socket is TLSSocket {
  return "encrypted" in socket;
}

function codeOf(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null && "code" in thrown ? String(thrown.code) : "";
}
