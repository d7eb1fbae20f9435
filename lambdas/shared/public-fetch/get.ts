/** One GET over a connection of its own to addresses that are already known. */
import type { LookupAddress } from "node:dns";
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { SekishoError } from "../../../contracts/errors.ts";
import { readIncoming } from "../read-incoming.ts";

/** Certificate, SNI and `Host` are for the URL's name; the name itself is not looked up again. Rejects with a SekishoError. */
export async function get({
  url,
  addresses,
  maxBytes,
  signal,
}: {
  url: URL;
  addresses: readonly LookupAddress[];
  maxBytes: number;
  signal: AbortSignal;
}): Promise<Uint8Array> {
  const options: RequestOptions = {
    agent: false,
    lookup: lookupIn(addresses),
    headers: { accept: "*/*", "accept-encoding": "identity" },
    signal,
  };
  const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once("response", resolve);
  request.on("error", reject);
  // A connection that is switched to another protocol closes without an error.
  request.once("close", () => reject(new Error("closed")));
  request.end();
  try {
    const response = await promise;
    const refusal = refusalOf({ response, maxBytes });
    if (refusal !== undefined) throw refusal;
    return await readIncoming({ message: response, maxBytes });
  } catch (thrown) {
    if (thrown instanceof SekishoError) throw thrown;
    throw new SekishoError(isNoHttp(thrown) ? "invalid_response" : "unavailable", { cause: thrown });
  } finally {
    request.destroy();
  }
}

/** By the head alone, before the body is read. */
function refusalOf({ response, maxBytes }: { response: IncomingMessage; maxBytes: number }): SekishoError | undefined {
  const { statusCode: status = 0, headers } = response;
  if (status === 429 || status >= 500) return new SekishoError("unavailable");
  const encoding = headers["content-encoding"] ?? "identity";
  if (status !== 200 || encoding.toLowerCase() !== "identity") return new SekishoError("invalid_response");
  return Number(headers["content-length"] ?? 0) > maxBytes ? new SekishoError("payload_too_large") : undefined;
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
