/** Sends one POST over node:https with kept-alive connections. Knows nothing of AWS. */
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { readIncomingMessage } from "../http/read-body.ts";

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/**
 * Rejects as node:https does, with the signal's reason, with a `TimeoutError`, or with a `ResponseTooLarge`. `timeoutMs` is the time until
 * the whole answer is there; opening a connection may take `connectTimeoutMs` of it.
 */
export type Send = (request: {
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  connectTimeoutMs: number;
  maxBytes: number;
  signal?: AbortSignal | undefined;
}) => Promise<Answer>;

/** Loads node:https at the first call, so that the process starts faster. */
export function createSend(url: URL): Send {
  const { protocol, hostname, port, pathname: path } = url;
  const target = { hostname: hostname.replace(/^\[|\]$/g, ""), port, path, method: "POST" };
  let open: ((headers: Record<string, string>) => ClientRequest) | undefined;

  function load() {
    const http = process.getBuiltinModule(protocol === "http:" ? "node:http" : "node:https");
    const agent: Agent = new http.Agent({ keepAlive: true });
    return (headers: Record<string, string>) => http.request({ ...target, agent, headers });
  }

  return ({ headers, body, timeoutMs, connectTimeoutMs, maxBytes, signal }) => {
    open ??= load();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (signal?.aborted) return Promise.reject(signal.reason);
    const request = open(headers);
    const timer = setTimeout(
      () => fail(new DOMException("The answer took too long.", "TimeoutError")),
      timeoutMs,
    );
    const abort = () => fail(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });

    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    function fail(error: unknown): void {
      end();
      reject(error);
      request.destroy();
    }
    function limitConnecting(): void {
      if (!request.socket?.connecting) return;
      const late = () => fail(new DOMException("The connection took too long.", "TimeoutError"));
      const connecting = setTimeout(late, connectTimeoutMs);
      request.socket
        .once("connect", () => clearTimeout(connecting))
        .once("close", () => clearTimeout(connecting));
    }
    async function readAnswer(response: IncomingMessage): Promise<void> {
      try {
        const answerBody = await readIncomingMessage({ message: response, maxBytes });
        if (answerBody === "too_large") return fail(new ResponseTooLarge());
        end();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answerBody });
      } catch (error) {
        fail(error);
      }
    }
    request
      .once("socket", limitConnecting)
      .once("response", readAnswer)
      .on("error", fail)
      .end(body);
    return promise;
  };
}

class ResponseTooLarge extends Error {
  override name = "ResponseTooLarge";
}
