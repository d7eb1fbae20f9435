/** An agent of bare A2A answers behind a card: what arrives is kept, what is answered is up to the test. */
import type { A2aVersion } from "../../contracts/a2a/operations.ts";
import { cardOf } from "./a2a-peer.ts";
import { json } from "./answers.ts";
import { startWebServer } from "./web-server.ts";

export type AgentCall = { id: string; method: string; params: Record<string, unknown>; headers: Headers; path: string };
export type Agent = {
  url: string;
  cardUrl: string;
  /** Requests for the card, or whatever else is got. */
  gets: Request[];
  calls: AgentCall[];
  close(): Promise<void>;
};

/** `answer` gives the members of a JSON-RPC response, or a whole response; `card` the response to every GET (of 1.0 where absent). */
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
