/** A peer that answers path `/n` with the n-th of the given answers, whatever the request, and with the request's id. */
import { json } from "../answers.ts";
import { startWebServer, type WebServer } from "../web-server.ts";

/** `response` is a JSON-RPC response. A null or missing `id` stays as it is. */
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
      return json(
        response.id === null || response.id === undefined ? response : { ...response, id },
        {
          status,
          headers,
        },
      );
    },
  });
  return { ...server, calls };
}

const missing: Answer = { status: 404, response: {} };
