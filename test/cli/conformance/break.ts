/** A deliberate break of an endpoint: it changes the host's answer, or gives another one. */
import type { Host } from "../../../lambdas/execution/host.ts";
import { json } from "../../doubles/answers.ts";
import type { Received } from "../../doubles/web-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: breaks look into JSON of every shape
export type Json = any;

export type Exchange = {
  /** The request's JSON. An empty object where it is not JSON. */
  sent: Json;
  request: Request;
  bytes: number;
  /** The host's answer to the request, with headers replaced by `over`. */
  kept(over?: Record<string, string>): Promise<Response>;
  /** The host's answer with its JSON changed in place. */
  changed(change: (answer: Json) => void): Promise<Response>;
};

export type Break = {
  /** What the endpoint does. Completes "an endpoint that". */
  what: string;
  /** The beginning of the names of the cases that are run. */
  theme: string;
  /** Exactly the cases that find it. */
  found: readonly string[];
  how(exchange: Exchange): Promise<Response> | Response;
  slow?: string;
  ask?: string;
  now?: () => number;
  timeoutMs?: number;
};

export function broken({ host, how }: { host: Host; how: Break["how"] }): (received: Received) => Promise<Response> {
  return async ({ request, body }) => {
    const kept = (over: Record<string, string> = {}) =>
      host.handle(new Request(request.url, { method: "POST", headers: { ...headersOf(request), ...over }, body }));
    return how({
      sent: parse(body) ?? {},
      request,
      bytes: body.byteLength,
      kept,
      async changed(change) {
        const response = await kept();
        const answer = await response.json();
        change(answer);
        return json(answer, { status: response.status });
      },
    });
  };
}

export function error({
  sent,
  code,
  ...more
}: {
  sent: Json;
  code: unknown;
  id?: unknown;
  data?: unknown;
  message?: string;
}) {
  return json({ jsonrpc: "2.0", id: sent.id ?? null, error: { code, message: "no", ...more } });
}

function headersOf(request: Request): Record<string, string> {
  return Object.fromEntries(request.headers);
}

function parse(body: Uint8Array): Json {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
