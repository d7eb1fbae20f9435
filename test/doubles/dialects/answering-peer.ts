/** A peer that answers the n-th path with the n-th of the given answers, whatever it is asked, under the id that it was sent. */
import { json } from "../answers.ts";
import { startWebServer, type WebServer } from "../web-server.ts";

/** `response` is a JSON-RPC response; where its `id` is null or missing, so it is on the wire. */
export type Answer = {
  status: number;
  headers?: Readonly<Record<string, string>>;
  response: Readonly<Record<string, unknown>>;
};

/** `calls` counts the requests by path. */
export async function startAnsweringPeer({
  answers,
}: {
  answers: readonly Answer[];
}): Promise<WebServer & { calls: ReadonlyMap<string, number> }> {
  const calls = new Map<string, number>();
  const server = await startWebServer({
    async handle({ target, body }) {
      calls.set(target, (calls.get(target) ?? 0) + 1);
      const { status, headers = {}, response } = answers[Number(target.slice(1))] ?? missing;
      const { id } = JSON.parse(Buffer.from(body).toString());
      return json(response.id === null || response.id === undefined ? response : { ...response, id }, {
        status,
        headers,
      });
    },
  });
  return { ...server, calls };
}

const missing: Answer = { status: 404, response: {} };
