/** Answers of scripted peers, valid and invalid. */
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { type ErrorDetails, type Reason, SekishoError } from "@sekisho/contracts/errors.ts";
import type { PeerCall } from "./execution-peer.ts";

export function json(value: unknown, init: ResponseInit = {}): Response {
  return raw(JSON.stringify(value), init);
}

export function raw(
  body: string | ReadableStream<Uint8Array>,
  { headers, ...init }: ResponseInit = {},
): Response {
  return new Response(body, {
    ...init,
    headers: { "content-type": "application/json", ...headers },
  });
}

export function result({ id }: Pick<PeerCall, "id">, value: unknown): Response {
  return json({ jsonrpc: "2.0", id, result: value });
}

export function success(call: Pick<PeerCall, "id">, text = "done"): Response {
  return result(call, { status: "success", response_text: text });
}

export function failure(
  { id }: Pick<PeerCall, "id">,
  reason: Reason,
  { details = {}, ...init }: ResponseInit & { details?: ErrorDetails } = {},
): Response {
  return json(
    {
      jsonrpc: "2.0",
      id,
      error: encodeError({ error: new SekishoError(reason, { details }), dialect: "zone" }),
    },
    init,
  );
}

/** Never answers. Ends when the caller has gone. */
export async function silence({ signal }: Pick<PeerCall, "signal">): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason));
  if (signal.aborted) reject(signal.reason);
  return promise;
}

/** The first half of a body. Then the body breaks off, or stalls. */
export function halfOf(text: string, { rest }: { rest: "break" | "stall" }): Response {
  const bytes = new TextEncoder().encode(text);
  let wasSent = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!wasSent) {
        wasSent = true;
        controller.enqueue(bytes.slice(0, bytes.byteLength / 2));
      } else if (rest === "break") {
        controller.error(new Error("broken on purpose"));
      } else {
        return new Promise(() => {});
      }
      return undefined;
    },
  });
  return raw(stream, { headers: { "content-length": String(bytes.byteLength) } });
}
