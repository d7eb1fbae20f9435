/** One request over a connection of its own to addresses that are already known. */
import type { LookupAddress } from "node:dns";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { SekishoError } from "../../../contracts/errors.ts";

/** What may be reached, and until when. */
export type Target = { url: URL; addresses: readonly LookupAddress[]; signal: AbortSignal };

/**
 * Certificate, SNI and `Host` are for the URL's name; the name itself is not looked up again. The connection ends when `read`
 * is done with the response, whatever of it is left. Rejects with a SekishoError: what `read` throws, `invalid_response` for
 * what is no HTTP, and `unavailable`.
 */
export async function requestOnce<T>({
  url,
  addresses,
  signal,
  method,
  headers,
  body,
  read,
}: Target & {
  method: "GET" | "POST";
  headers: OutgoingHttpHeaders;
  body?: string;
  read: (response: IncomingMessage) => T | Promise<T>;
}): Promise<T> {
  const options: RequestOptions = { agent: false, lookup: lookupIn(addresses), method, headers, signal };
  const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once("response", resolve);
  request.on("error", reject);
  // A connection that is switched to another protocol closes without an error.
  request.once("close", () => reject(new Error("closed")));
  request.end(body);
  try {
    return await read(await promise);
  } catch (thrown) {
    if (thrown instanceof SekishoError) throw thrown;
    throw new SekishoError(isNoHttp(thrown) ? "invalid_response" : "unavailable", { cause: thrown });
  } finally {
    request.destroy();
  }
}

/** Answers every question with the addresses that were checked. */
function lookupIn(addresses: readonly LookupAddress[]): LookupFunction {
  const [first] = addresses;
  return (_name, { all }, callback) => {
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

function isNoHttp(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "code" in thrown && String(thrown.code).startsWith("HPE_");
}
