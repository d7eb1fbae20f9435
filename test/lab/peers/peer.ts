/** A framework as a peer of Sekisho: its agents for our transport, and its client for our host. */
import { createServer, type RequestListener } from "node:http";
import type { Message } from "@a2a-js/sdk";
import { closeServer, startListening } from "@sekisho/runtime/http/server.ts";

/** A server on loopback. `cardUrl` is the address of the agent's card. */
export type PeerAgent = { cardUrl: string; close: () => Promise<void> };

/** A client's view of one message. `state` is the last one of the task, and `said` the agent's words with that state. */
export type Heard = {
  text: string;
  progress?: readonly string[];
  files?: readonly string[];
  state: string | undefined;
  said: string;
};

export type Peer = {
  name: string;
  startAgent?: () => Promise<PeerAgent>;
  /** How cancel_task ends for a task of its agent that runs: `canceled`, or the reason of the error. */
  cancelOutcome?: string;
  /** Begins a conversation with the host at the address. */
  converse: (hostUrl: string) => Promise<{
    say: (text: string) => Promise<Heard>;
    /** Sends a message, cancels its task while it runs, and returns the state. */
    cancel?: (text: string) => Promise<string>;
  }>;
  /** Why a framework cannot tell a story: "agent: question" is that of its agents, "client: question" that of its client. */
  lacks: Readonly<Record<string, string>>;
};

export function joinTexts(message: Message | undefined): string {
  return (message?.parts ?? [])
    .flatMap((part) => (part.kind === "text" ? part.text : []))
    .join("\n");
}

/** Serves on loopback. `mount` gets the address before the first request. */
export async function listen(
  mount: (url: string) => Promise<RequestListener>,
): Promise<{ url: string; close: () => Promise<void> }> {
  let listener: RequestListener | undefined;
  const server = createServer((request, response) => listener?.(request, response));
  const port = await startListening({
    server,
    hostname: "127.0.0.1",
    port: 0,
    portSetting: "none",
  });
  const url = `http://127.0.0.1:${port}`;
  listener = await mount(url);
  return { url, close: () => closeServer(server) };
}
