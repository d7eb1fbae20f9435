/** One connection of Socket Mode, by Slack's own client. */
import type { Logger } from "@slack/socket-mode";
import { withinDeadline } from "../../lambdas/verification/ingress/deadline.ts";

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
  client.on("slack_event", ({ type, body, ack }: { type: string; body: unknown; ack: () => Promise<void> }) => {
    onEnvelope({ type, payload: body, ack: () => ack() });
  });
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
