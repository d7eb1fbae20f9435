/** An A2A agent whose answers come from the test. It keeps all requests. */
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { BindingName } from "@sekisho/verification/transport/carrier.ts";
import { cardOf } from "./a2a-peer.ts";
import { type RestCall, readRestCall, restAnswer } from "./a2a-rest.ts";
import { json } from "./answers.ts";
import { startWebServer } from "./web-server.ts";

export type AgentCall = {
  id: string;
  method: string;
  params: Record<string, unknown>;
  headers: Headers;
  path: string;
};
export type Agent = {
  url: string;
  cardUrl: string;
  /** All GET requests; normally for the card. */
  gets: Request[];
  calls: AgentCall[];
  close(): Promise<void>;
};

/**
 * `answer` returns members of a JSON-RPC response, or a whole response. `card` answers every other GET. Over HTTP+JSON, calls and answers are
 * translated, and `path` is that of the interface.
 */
export async function startAgent({
  version = "1.0",
  binding = "JSONRPC",
  card,
  answer = () => ({ error: { code: -32603, message: "not scripted" } }),
}: {
  version?: A2aVersion;
  binding?: BindingName;
  card?: (request: Request, base: string) => Response | Promise<Response>;
  answer?: (call: AgentCall) => object | Response | Promise<Response>;
}): Promise<Agent> {
  const gets: Request[] = [];
  const calls: AgentCall[] = [];
  const { url, close } = await startWebServer({
    async handle(received) {
      const { request } = received;
      const { origin, pathname: path } = new URL(request.url);
      const { headers } = request;
      const restCall = binding === "JSONRPC" ? undefined : readRestCall(received);
      if (restCall instanceof Response) return restCall;
      if (restCall !== undefined) {
        const { method, params, base } = restCall;
        const id = String(Object(params.message).messageId);
        const call = { id, method, params, headers, path: base };
        calls.push(call);
        return inRest({ answered: await answer(call), call: restCall });
      }
      if (request.method === "GET") {
        gets.push(request);
        return card?.(request, origin) ?? json(cardOf({ url: `${origin}/a2a`, version, binding }));
      }
      const { id, method, params } = JSON.parse(await request.text());
      const call = { id, method, params, headers, path };
      calls.push(call);
      const answered = await answer(call);
      return answered instanceof Response ? answered : json({ jsonrpc: "2.0", id, ...answered });
    },
  });
  return { url, cardUrl: `${url}/.well-known/agent-card.json`, gets, calls, close };
}

/** A response that is no JSON-RPC stays as it is. */
async function inRest({
  answered,
  call,
}: {
  answered: object | Response;
  call: RestCall;
}): Promise<Response> {
  if (!(answered instanceof Response)) return restAnswer({ envelope: answered, call });
  const text = await answered.clone().text();
  if (!text.includes('"jsonrpc"')) return answered;
  const { status, headers } = answered;
  const init = {
    ...(status === 200 ? {} : { status }),
    headers: Object.fromEntries(headers),
  };
  return restAnswer({ envelope: JSON.parse(text), call, init });
}
