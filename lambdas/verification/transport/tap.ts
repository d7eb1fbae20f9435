/** Shows an operator the requests and responses of a transport, with secrets redacted. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { redact } from "@sekisho/runtime/redact.ts";
import { isTooDeep, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import type { Transport } from "./transport.ts";

/** `body` is the parsed JSON, `{ unreadable_bytes }` for a body that is not JSON, or `{ failed: reason }` if there was no response. */
export type TapEntry = {
  direction: "request" | "response";
  id: string;
  method: string;
  body: unknown;
  atMs: number;
};
export type Tap = (entry: TapEntry) => void;

/** Wraps the transport and passes each request and response to `tap`, which must not throw. */
export function tapTransport(options: {
  transport: Transport;
  tap: Tap;
  now?: () => number;
}): Transport {
  const { transport, tap, now = Date.now } = options;
  return {
    ...transport,
    async send(request) {
      const sentRequest = parse(request.body);
      const { id, method } = readNames(sentRequest);
      const show = (direction: TapEntry["direction"], body: unknown) =>
        tap({ direction, id, method, body: redact(body), atMs: now() });
      show("request", sentRequest);
      try {
        const response = await transport.send(request);
        show("response", parse(response.body));
        return response;
      } catch (error) {
        show("response", { failed: SekishoError.from(error).reason });
        throw error;
      }
    },
  };
}

function parse(body: Uint8Array): unknown {
  const json = isTooDeep(body) ? undefined : parseJson(Buffer.from(body).toString());
  return json === undefined ? { unreadable_bytes: body.byteLength } : json;
}

function readNames(request: unknown): { id: string; method: string } {
  const { id, method } = Object(request) as { id?: unknown; method?: unknown };
  return { id: String(id), method: String(method) };
}
