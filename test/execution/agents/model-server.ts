/** A server that speaks chat completions the way a test says, over a real socket. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { keepConnections } from "../../doubles/web-server.ts";

type ModelRequest = { path: string; headers: IncomingHttpHeaders; body: unknown };

export type ModelServer = { baseUrl: string; requests: ModelRequest[]; close(): Promise<void> };

export async function startModelServer(
  answer: (response: ServerResponse, request: IncomingMessage) => unknown,
): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { url = "", headers } = request;
    requests.push({ path: url, headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
    await answer(response, request);
  });
  keepConnections(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The head of a stream; the test writes the rest. */
export function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  return response;
}

export function delta(content: string, extra: Record<string, unknown> = {}): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, ...extra }] })}\n\n`;
}
