/**
 * Sends HTTP requests over kept-alive connections, and says of a failed one whether it may have reached the peer. It uses undici, because
 * node:http needs more than twice the processor time for a call (docs/decisions/0003-http-client.md).
 */
import type { Dispatcher } from "undici";
import { type ClientCertificate, type Connection, createConnections } from "./connections.ts";
import { createBodyCollector, isAnnouncedLarger } from "./read-body.ts";

/** Names in lower case. A repeated header is joined by commas. */
export type HttpHeaders = Readonly<Record<string, string | undefined>>;
export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type HttpHead = { status: number; headers: HttpHeaders };

/** Collects the body of a response. `add` throws if the body is too large. `isDone` says that the rest need not be read. */
export type Collector<Body> = { add(chunk: Uint8Array): void; isDone?(): boolean; end(): Body };

export type HttpRequest<Body> = {
  method: HttpMethod;
  url: URL;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array | undefined;
  /** Ends the request at any point. */
  signal: AbortSignal;
  certificate?: ClientCertificate | undefined;
  /** Called with the head of the response. If it throws, or its collector does, `send` rejects with that. `upTo` is the usual one. */
  collect: (head: HttpHead) => Collector<Body>;
};

export type HttpClient = {
  /** Follows no redirect, repeats nothing and decodes nothing. Rejects with an HttpError, or with what `collect` throws. */
  send<Body>(request: HttpRequest<Body>): Promise<HttpHead & { body: Body }>;
  /** Closes all connections. A request that is under way fails. */
  close(): void;
};

/**
 * - `unsent`: nothing of the request was written, or the peer refused the client certificate before it read any of it
 * - `ambiguous`: the peer may have read the request
 * - `not_http`: the peer answered with something else than HTTP
 * - `too_large`: the body of the response is larger than allowed
 */
export type HttpErrorKind = "unsent" | "ambiguous" | "not_http" | "too_large";

/** `cause` is the error of the network, or the signal's reason. */
export class HttpError extends Error {
  readonly kind: HttpErrorKind;

  constructor(kind: HttpErrorKind, options: { cause?: unknown } = {}) {
    super(`The HTTP request failed: ${kind}`, options);
    this.name = "HttpError";
    this.kind = kind;
  }
}

/** `connectTimeoutMs` limits DNS, the connection and TLS together. */
export function createHttpClient(
  options: { connectTimeoutMs?: number | undefined } = {},
): HttpClient {
  const { connectTimeoutMs = 5000 } = options;
  const connections = createConnections({ connectTimeoutMs });
  return {
    async send(request) {
      const { url, certificate, signal } = request;
      if (signal.aborted) throw new HttpError("unsent", { cause: signal.reason });
      return exchange(connections.take({ origin: url.origin, certificate }), request);
    },
    close: connections.close,
  };
}

function exchange<Body>(
  connection: Connection,
  request: HttpRequest<Body>,
): Promise<HttpHead & { body: Body }> {
  const { method, url, headers, body, signal, collect } = request;
  const { promise, resolve, reject } = Promise.withResolvers<HttpHead & { body: Body }>();
  /** Set when the request is about to be written into an open connection. */
  let controller: Dispatcher.DispatchController | undefined;
  let head: HttpHead | undefined;
  let collector: Collector<Body> | undefined;

  function fail(error: unknown): void {
    signal.removeEventListener("abort", abort);
    reject(error);
    controller?.abort(new Error("The request has failed."));
    connection.destroy();
  }

  /** Resolves with what was read. The rest of the response is not waited for. */
  function endEarly(head: HttpHead, collector: Collector<Body>): void {
    signal.removeEventListener("abort", abort);
    resolve({ ...head, body: collector.end() });
    controller?.abort(new Error("The rest of the response is not needed."));
    connection.destroy();
  }

  function abort(): void {
    fail(
      new HttpError(controller === undefined ? "unsent" : "ambiguous", { cause: signal.reason }),
    );
  }

  signal.addEventListener("abort", abort);
  connection.dispatch(
    { method, path: url.pathname + url.search, headers, body: body ?? null },
    {
      onRequestStart(requestController) {
        controller = requestController;
      },
      onResponseStart(_controller, status, rawHeaders) {
        // An interim response comes before the real one.
        if (status < 200) return;
        try {
          head = { status, headers: joinRepeated(rawHeaders) };
          collector = collect(head);
        } catch (error) {
          fail(error);
        }
      },
      onResponseData(_controller, chunk) {
        try {
          collector?.add(chunk);
          if (head !== undefined && collector?.isDone?.()) endEarly(head, collector);
        } catch (error) {
          fail(error);
        }
      },
      onResponseEnd() {
        signal.removeEventListener("abort", abort);
        connection.release();
        if (head !== undefined && collector !== undefined)
          resolve({ ...head, body: collector.end() });
      },
      onResponseError(_controller, error) {
        if (controller === undefined) fail(new HttpError("unsent", { cause: error }));
        else fail(toHttpError(connection.firstError() ?? error));
      },
    },
  );
  return promise;
}

/** Collects a body of at most `maxBytes`. Throws an HttpError `too_large`, also for a body that is announced as larger. */
export function upTo(maxBytes: number): (head: HttpHead) => Collector<Buffer<ArrayBuffer>> {
  return ({ headers }) => {
    if (isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes }))
      throw new HttpError("too_large");
    const collector = createBodyCollector({ maxBytes });
    return {
      add(chunk) {
        if (!collector.add(chunk)) throw new HttpError("too_large");
      },
      end: collector.bytes,
    };
  };
}

/** The error of a request that may have been written. */
function toHttpError(cause: Error): HttpError {
  if (isCertificateRefused(cause)) return new HttpError("unsent", { cause });
  const isNotHttp =
    cause.name === "HTTPParserError" || codeOf(cause) === "UND_ERR_HEADERS_OVERFLOW";
  return new HttpError(isNotHttp ? "not_http" : "ambiguous", { cause });
}

/** TLS alerts about the client's certificate, as OpenSSL names them. */
const certificateRefusal = /^ERR_SSL_.+_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

/**
 * In TLS 1.3 a peer refuses a client certificate only after the request may be written (RFC 8446, section 4.4.2.4), but it has read
 * nothing of it.
 */
export function isCertificateRefused(error: unknown): boolean {
  return certificateRefusal.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}

/** Fields with a single value by their definition. Like node:http, this takes the first value of a repeated one. */
const singleValued: ReadonlySet<string> = new Set(["content-type", "location", "retry-after"]);

function joinRepeated(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): HttpHeaders {
  const joinedHeaders: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!Array.isArray(value)) joinedHeaders[name] = value;
    else joinedHeaders[name] = singleValued.has(name) ? value[0] : value.join(", ");
  }
  return joinedHeaders;
}
