/** An A2A agent whose answers come from the test. It keeps all requests. */
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { cardOf } from "./a2a-peer.ts";
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

/** `answer` returns members of a JSON-RPC response, or a whole response. `card` answers every GET. */
export async function startAgent({
  version = "1.0",
  card,
  answer = () => ({ error: { code: -32603, message: "not scripted" } }),
}: {
  version?: A2aVersion;
  card?: (request: Request, base: string) => Response | Promise<Response>;
  answer?: (call: AgentCall) => object | Response | Promise<Response>;
}): Promise<Agent> {
  const gets: Request[] = [];
  const calls: AgentCall[] = [];
  const { url, close } = await startWebServer({
    async handle({ request }) {
      const { origin, pathname: path } = new URL(request.url);
      if (request.method === "GET") {
        gets.push(request);
        return card?.(request, origin) ?? json(cardOf({ url: `${origin}/a2a`, version }));
      }
      const { id, method, params } = JSON.parse(await request.text());
      const call = { id, method, params, headers: request.headers, path };
      calls.push(call);
      const answered = await answer(call);
      return answered instanceof Response ? answered : json({ jsonrpc: "2.0", id, ...answered });
    },
  });
  return { url, cardUrl: `${url}/.well-known/agent-card.json`, gets, calls, close };
}
