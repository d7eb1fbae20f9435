/** The smallest endpoint that fulfils the contract: one method, answered at once, nothing stored. */
import { json } from "./answers.ts";
import type { Received } from "./web-server.ts";

const maxBytes = 256 * 1024;

/** For `startWebServer`. Requests without the token get 401. */
export function minimalEndpoint({
  token,
}: {
  token: string;
}): (call: Received) => Promise<Response> {
  return async ({ request, body }) => {
    if (request.headers.get("authorization") !== `Bearer ${token}`)
      return new Response(null, { status: 401 });
    if (body.byteLength > maxBytes) return new Response(null, { status: 413 });
    return answer(Buffer.from(body).toString());
  };
}

function answer(text: string): Response {
  const call = parse(text);
  if (call === undefined) return error(-32700, null);
  const { id, method, params } = Object(call);
  const hasId = typeof id === "string" || Number.isInteger(id);
  if (call?.jsonrpc !== "2.0" || typeof method !== "string" || !hasId) return error(-32600, null);
  if (method !== "execute_task") return error(-32601, id);
  if (typeof params?.channel !== "string" || typeof params.text !== "string")
    return error(-32602, id);
  const result = { status: "success", response_text: `I heard: ${params.text}` };
  return json({ jsonrpc: "2.0", id, result });
}

// biome-ignore lint/suspicious/noExplicitAny: the smallest endpoint trusts its JSON
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function error(code: number, id: unknown): Response {
  return json({ jsonrpc: "2.0", id, error: { code, message: "no" } });
}
