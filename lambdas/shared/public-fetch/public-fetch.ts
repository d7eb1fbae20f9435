/** GET and POST of a URL that somebody else chose: only to public addresses, only what was asked for, and only so much of the answer. */
import type { LookupAddress } from "node:dns";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { SekishoError } from "../../../contracts/errors.ts";
import { isAnnouncedLarger, readIncomingMessage } from "../http/read-body.ts";
import { createReach, type PublicTarget, type ReachOptions } from "./reach.ts";

/** `timeoutMs` is for all of it: the name, the connection and the last byte. */
export type PublicFetch = (request: {
  url: string;
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<Uint8Array>;

/**
 * Names, addresses and time are as `createReach` says. A redirect is not followed.
 *
 * Rejects with a SekishoError: `permission_denied` for a URL or an address that is not for everybody, `payload_too_large`,
 * `invalid_response` for anything but a plain 200, and `unavailable` for what may work another time (no address, no
 * connection, no time, 429, 5xx); or with the signal's reason where the caller gave up.
 */
export function createPublicFetch(options: ReachOptions = {}): PublicFetch {
  const reach = createReach(options);
  return ({ maxBytes, ...request }) => reach({ ...request, work: (target) => get({ ...target, maxBytes }) });
}

/** Rejects with a SekishoError. */
async function get({ maxBytes, ...target }: PublicTarget & { maxBytes: number }): Promise<Uint8Array> {
  return requestOnce({
    ...target,
    method: "GET",
    headers: { accept: "*/*", "accept-encoding": "identity" },
    async read(response) {
      const refusal = checkPublicResponse({ response, maxBytes });
      if (refusal !== undefined) throw refusal;
      const body = await readIncomingMessage({ message: response, maxBytes });
      if (body === "too_large") throw new SekishoError("payload_too_large");
      return body;
    },
  });
}

/** By the head alone, before the body is read. */
function checkPublicResponse({
  response,
  maxBytes,
}: {
  response: IncomingMessage;
  maxBytes: number;
}): SekishoError | undefined {
  const { statusCode: status = 0, headers } = response;
  if (status === 429 || status >= 500) return new SekishoError("unavailable");
  const encoding = headers["content-encoding"] ?? "identity";
  if (status !== 200 || encoding.toLowerCase() !== "identity") return new SekishoError("invalid_response");
  const isTooLarge = isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes });
  return isTooLarge ? new SekishoError("payload_too_large") : undefined;
}

/**
 * Certificate, SNI and `Host` are for the URL's name; the name itself is not looked up again. The connection ends when `read`
 * is done with the response, whatever of it is left. Rejects with a SekishoError: what `read` throws, `invalid_response` for
 * what is no HTTP, and `unavailable`.
 */
async function requestOnce<T>({
  url,
  addresses,
  signal,
  method,
  headers,
  body,
  read,
}: PublicTarget & {
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

/** `retryAfter` is the header's own text. */
type PostAnswer = { status: number; retryAfter: string | undefined };

/** `timeoutMs` is for all of it: the name, the connection and the head of the answer. */
export type PublicPost = (request: {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<PostAnswer>;

/**
 * Names, addresses and time are as `createReach` says. A redirect is an answer like any other, and not followed.
 *
 * Rejects with a SekishoError: `permission_denied` for a URL or an address that is not for everybody, `invalid_response` for
 * what is no HTTP, and `unavailable` where no answer came; or with the signal's reason where the caller gave up.
 */
export function createPublicPost(options: ReachOptions = {}): PublicPost {
  const reach = createReach(options);
  return ({ headers, body, ...request }) =>
    reach({
      ...request,
      work: (target) =>
        requestOnce({
          ...target,
          method: "POST",
          headers: { ...headers, "content-length": Buffer.byteLength(body) },
          body,
          read: ({ statusCode: status = 0, headers: { "retry-after": retryAfter } }) => ({ status, retryAfter }),
        }),
    });
}
