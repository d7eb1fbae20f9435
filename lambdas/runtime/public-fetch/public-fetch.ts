/** GET and POST of a URL that somebody else chose: only to public addresses, and with a limit for the answer. */
import type { LookupAddress } from "node:dns";
import {
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isAnnouncedLarger, readIncomingMessage } from "../http/read-body.ts";
import { createReach, type PublicTarget, type ReachOptions } from "./reach.ts";

/** `timeoutMs` limits everything: the look-up, the connection and the body. */
export type PublicFetch = (request: {
  url: string;
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<Uint8Array>;

/**
 * Restricts addresses and time like `createReach`. Follows no redirect. Rejects with the signal's reason or with a SekishoError:
 * `permission_denied` for a forbidden URL or address, `payload_too_large`, `invalid_response` for anything but a plain 200, and
 * `unavailable` if a retry may succeed (no address, no connection, no time, 429, 5xx).
 */
export function createPublicFetch(options: ReachOptions = {}): PublicFetch {
  const reach = createReach(options);
  return ({ maxBytes, ...request }) =>
    reach({ ...request, work: (target) => get({ ...target, maxBytes }) });
}

/** Rejects with a SekishoError. */
async function get({
  maxBytes,
  ...target
}: PublicTarget & { maxBytes: number }): Promise<Uint8Array> {
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

/** Checks status and headers before the body is read. */
function checkPublicResponse(request: {
  response: IncomingMessage;
  maxBytes: number;
}): SekishoError | undefined {
  const { response, maxBytes } = request;
  const { statusCode: status = 0, headers } = response;
  if (status === 429 || status >= 500) return new SekishoError("unavailable");
  const encoding = headers["content-encoding"] ?? "identity";
  if (status !== 200 || encoding.toLowerCase() !== "identity")
    return new SekishoError("invalid_response");
  const isTooLarge = isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes });
  return isTooLarge ? new SekishoError("payload_too_large") : undefined;
}

/**
 * Connects to the checked addresses without another look-up. Certificate, SNI and `Host` use the URL's name. Closes the connection when
 * `read` is done with the response. Rejects with a SekishoError: that of `read`, `invalid_response` if the answer is not HTTP, or
 * `unavailable`.
 */
async function requestOnce<T>(
  input: PublicTarget & {
    method: "GET" | "POST";
    headers: OutgoingHttpHeaders;
    body?: string;
    read: (response: IncomingMessage) => T | Promise<T>;
  },
): Promise<T> {
  const { url, addresses, signal, method, headers, body, read } = input;
  const options: RequestOptions = {
    agent: false,
    lookup: lookupIn(addresses),
    method,
    headers,
    signal,
  };
  const request =
    url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once("response", resolve);
  request.on("error", reject);
  // A connection that switches protocols closes without an error.
  request.once("close", () => reject(new Error("closed")));
  request.end(body);
  try {
    return await read(await promise);
  } catch (error) {
    if (error instanceof SekishoError) throw error;
    throw new SekishoError(isNoHttp(error) ? "invalid_response" : "unavailable", {
      cause: error,
    });
  } finally {
    request.destroy();
  }
}

/** Resolves every name to the addresses that were checked. */
function lookupIn(addresses: readonly LookupAddress[]): LookupFunction {
  const [first] = addresses;
  return (_name, { all }, callback) => {
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

function isNoHttp(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    String(error.code).startsWith("HPE_")
  );
}

/** `retryAfter` is the value of the header. */
type PostAnswer = { status: number; retryAfter: string | undefined };

/** `timeoutMs` limits everything: the look-up, the connection and the head of the answer. */
export type PublicPost = (request: {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<PostAnswer>;

/**
 * Restricts addresses and time like `createReach`. A redirect is a plain answer. Rejects with the signal's reason or with a SekishoError:
 * `permission_denied` for a forbidden URL or address, `invalid_response` if the answer is not HTTP, and `unavailable` if there was none.
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
          read: ({ statusCode: status = 0, headers: { "retry-after": retryAfter } }) => ({
            status,
            retryAfter,
          }),
        }),
    });
}
