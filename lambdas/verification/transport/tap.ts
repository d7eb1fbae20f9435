/** Lets someone watch what goes over a transport, with secrets redacted: the local page shows it. */

import { SekishoError } from "../../../contracts/errors.ts";
import { isTooDeep } from "../../shared/json-depth.ts";
import { redact } from "./redact.ts";
import type { Transport } from "./transport.ts";

/** `body` is the parsed JSON, or for a response that is none `{ unreadable_bytes }`, or for no response `{ failed: reason }`. */
export type TapEntry = {
  direction: "request" | "response";
  id: string;
  method: string;
  body: unknown;
  atMs: number;
};
export type Tap = (entry: TapEntry) => void;

/** The transport's behaviour stays as it is; `tap` must not throw. Repetitions of a request show up as what they are. */
export function tapTransport({
  transport,
  tap,
  now = Date.now,
}: {
  transport: Transport;
  tap: Tap;
  now?: () => number;
}): Transport {
  return {
    ...transport,
    async send(request) {
      const sent = parse(request.body);
      const { id, method } = namesOf(sent);
      const show = (direction: TapEntry["direction"], body: unknown) =>
        tap({ direction, id, method, body: redact(body), atMs: now() });
      show("request", sent);
      try {
        const response = await transport.send(request);
        show("response", parse(response.body));
        return response;
      } catch (thrown) {
        show("response", { failed: SekishoError.from(thrown).reason });
        throw thrown;
      }
    },
  };
}

function parse(body: Uint8Array): unknown {
  const unreadable = { unreadable_bytes: body.byteLength };
  if (isTooDeep(body)) return unreadable;
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return unreadable;
  }
}

function namesOf(request: unknown): { id: string; method: string } {
  const { id, method } = Object(request) as { id?: unknown; method?: unknown };
  return { id: String(id), method: String(method) };
}
