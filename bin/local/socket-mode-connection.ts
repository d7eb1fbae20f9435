/** One connection of Socket Mode, by Slack's own client. */
import type { Logger, SocketModeClient } from "@slack/socket-mode";
import { withinDeadline } from "../../lambdas/verification/ingress/deadline.ts";
import { readFrame } from "./socket-mode-frame.ts";

/** As Slack sent it; `ack` rejects where the connection is gone. */
export type Envelope = { type: string; payload: unknown; ack: () => Promise<void> };
/** `over` resolves when the connection has ended, whoever ended it. */
export type SocketModeConnection = { over: Promise<void>; close(): Promise<void> };

/** For the address to connect to, and for Slack's hello. */
const openTimeoutMs = 10_000;
/** Slack answers our goodbye, but leaves the TCP connection open. */
const goodbyeTimeoutMs = 500;

/** The client would print what it receives, and addresses that are as good as a token. */
const nothing = () => {};
const mute = { debug: nothing, info: nothing, warn: nothing, error: nothing, setLevel: nothing, setName: nothing };
const silentLogger = { ...mute, getLevel: () => "error" } as Logger;

/**
 * Resolves after Slack's hello; rejects as the client does. The client's own reconnecting is off: it waits five seconds without
 * a connection each time, gives up for good at a 5xx, and then ends the process by a rejection that nobody handles.
 */
export async function openSocketModeConnection({
  appToken,
  apiUrl,
  onEnvelope,
}: {
  appToken: () => Promise<string>;
  apiUrl: string;
  onEnvelope: (envelope: Envelope) => void;
}): Promise<SocketModeConnection> {
  const { SocketModeClient } = await import("@slack/socket-mode");
  const client = new SocketModeClient({
    appToken: await appToken(),
    autoReconnectEnabled: false,
    logger: silentLogger,
    clientOptions: {
      slackApiUrl: apiUrl,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: openTimeoutMs,
    },
  });
  takeEnvelopes({ client, onEnvelope });
  const over = new Promise<void>((resolve) => client.once("disconnected", () => resolve()));

  async function close(): Promise<void> {
    await withinDeadline({ work: client.disconnect(), timeoutMs: goodbyeTimeoutMs }).catch(nothing);
    // The second time the connection is cut.
    client.websocket?.disconnect();
  }

  try {
    await withinDeadline({ work: client.start(), timeoutMs: openTimeoutMs });
  } catch (thrown) {
    await close();
    // Where the connection ended before the hello, the client says nothing.
    throw thrown ?? new Error("The connection ended before it began.");
  }
  return { over, close };
}

/**
 * The client keeps only hello and goodbye. It would emit an event by the name that an envelope's payload has, which may be one of
 * its own ("disconnected"), and end the process by a rejection where there is none, as in `app_rate_limited`
 * (https://docs.slack.dev/apis/events-api/#rate-limiting).
 */
function takeEnvelopes({
  client,
  onEnvelope,
}: {
  client: SocketModeClient;
  onEnvelope: (envelope: Envelope) => void;
}): void {
  const ofClient = client.listeners("ws_message");
  client.removeAllListeners("ws_message");
  client.on("ws_message", (data: unknown, isBinary: boolean) => {
    const frame = typeof data === "string" ? readFrame(data) : undefined;
    if (frame?.kind === "word") for (const listener of ofClient) listener(data, isBinary);
    if (frame?.kind !== "envelope") return;
    const { id, type, payload } = frame;
    onEnvelope({ type, payload, ack: () => acknowledge({ client, id }) });
  });
}

/** Rejects where the connection is gone. */
async function acknowledge({ client: { websocket }, id }: { client: SocketModeClient; id: string }): Promise<void> {
  if (!websocket?.isActive()) throw new Error("The connection is gone.");
  await new Promise<void>((resolve, reject) => {
    websocket.send(JSON.stringify({ envelope_id: id, payload: {} }), (error) => (error ? reject(error) : resolve()));
  });
}
