/** A scripted peer in place of the Execution host, as a function or as an HTTP server. */
import { startWebServer } from "./web-server.ts";

/** One received request. `count` is its number, from 1. */
export type PeerCall = {
  id: string;
  method: string;
  params: Record<string, unknown>;
  headers: Headers;
  text: string;
  signal: AbortSignal;
  count: number;
};
export type Script = (call: PeerCall) => Response | Promise<Response>;
export type Peer = { handle: (request: Request) => Promise<Response>; calls: PeerCall[] };

export function createPeer({ script }: { script: Script }): Peer {
  const calls: PeerCall[] = [];
  return {
    calls,
    async handle(request) {
      const text = await request.text();
      const { id, method, params } = JSON.parse(text);
      const { headers, signal } = request;
      const call = { id, method, params, headers, text, signal, count: calls.length + 1 };
      calls.push(call);
      return script(call);
    },
  };
}

export async function startExecutionPeer({
  script,
}: {
  script: Script;
}): Promise<Peer & { url: string; close(): Promise<void> }> {
  const peer = createPeer({ script });
  const { url, close } = await startWebServer({ handle: ({ request }) => peer.handle(request) });
  return { ...peer, url, close };
}
