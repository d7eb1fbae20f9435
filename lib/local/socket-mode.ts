/**
 * Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode): Slack's events come over a connection that this
 * machine opens, so it needs no public address.
 */

import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { withinDeadline } from "@sekisho/runtime/async/deadline.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { createConnector } from "@sekisho/runtime/http/connector.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Intake } from "@sekisho/verification/ingress/ingress.ts";
import type { VerifiedPayload } from "@sekisho/verification/ingress/interpret-payload.ts";
import { toNamedError } from "@sekisho/verification/slack/api/web-call.ts";
import type { Logger, SocketModeClient } from "@slack/socket-mode";
import * as z from "zod";
import { readJson } from "./read-json.ts";
import { toTokenError } from "./socket-mode-identity.ts";

export type SocketMode = { close(): Promise<void> };

/** The longest delay between two tries of Slack's own client. */
const maxPauseMs = 30_000;
/** A shorter connection counts as failed: Slack ends connections beyond ten per app at once. */
const shortLifeMs = 10_000;

/** Other types are acknowledged and dropped. */
const types: readonly VerifiedPayload["type"][] = ["events_api", "slash_commands", "interactive"];

type SocketModeOptions = {
  appToken: () => Promise<string>;
  apiUrl: string;
  intake: Intake;
  log: Log;
  random?: () => number;
};

/**
 * Resolves after Slack's hello. Rejects with a message for the user if Slack refuses the token or cannot be reached.
 * An envelope is acknowledged after the queue has it. Otherwise Slack delivers it again, or tells the person that it failed.
 * Each connection ends after an hour or so; then another one follows. No log line holds texts or tokens.
 */
export async function startSocketMode(options: SocketModeOptions): Promise<SocketMode> {
  const { appToken, apiUrl, intake, log, random = Math.random } = options;
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();

  async function receive({ type: typeName, payload, ack }: Envelope): Promise<void> {
    const type = types.find((knownType) => knownType === typeName);
    const intakeResult = type === undefined ? "dropped" : await intake({ type, payload });
    if (intakeResult === "failed") return;
    const reply = typeof intakeResult === "object" ? intakeResult.reply : {};
    // The connection has ended: Slack delivers again, and the request id will be the same.
    await ack(reply).catch(() => log.debug("socket_mode_unacknowledged"));
  }
  function onEnvelope(envelope: Envelope): void {
    const reception = receive(envelope)
      .catch((error: unknown) => {
        log.error("socket_mode_failed", { cause_kind: errorKind(error) });
      })
      .finally(() => underWay.delete(reception));
    underWay.add(reception);
  }
  const connect = () => openConnection({ appToken, apiUrl, onEnvelope });

  let connection: SocketModeConnection = await connect().catch((error: unknown) => {
    throw toTokenError({ thrown: error, apiUrl, name: "the app token", kind: "app" });
  });
  log.info("socket_mode_connected");

  async function stayConnected(): Promise<void> {
    let connectedAtMs = Date.now();
    let isOver: Promise<void> | undefined = connection.over;
    for (let failures = 0; ; ) {
      // `close` closes a connection that opens while it runs.
      if (!stop.signal.aborted) await isOver;
      if (stop.signal.aborted) return;
      failures =
        isOver === undefined || Date.now() - connectedAtMs < shortLifeMs ? failures + 1 : 0;
      const delayMs =
        failures === 0 ? 0 : Math.min(maxPauseMs, 1000 * 2 ** (failures - 1)) * random();
      log.info("socket_mode_disconnected", { delay_ms: Math.round(delayMs) });
      await wait(delayMs, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) return;
      isOver = undefined;
      try {
        connection = await connect();
        isOver = connection.over;
        connectedAtMs = Date.now();
        log.info("socket_mode_connected");
      } catch (error) {
        log.error("socket_mode_unconnected", { cause_kind: errorKind(error) });
      }
    }
  }

  const staying = stayConnected();
  return {
    async close() {
      stop.abort();
      // Envelopes under way are acknowledged over the open connection.
      await Promise.all(underWay);
      await connection.close();
      await staying;
      // A connection may have opened meanwhile.
      await connection.close();
      await Promise.all(underWay);
    },
  };
}

/** As Slack sent it. `ack` rejects if the connection has ended. */
type Envelope = { type: string; payload: unknown; ack: (reply: object) => Promise<void> };
/** `over` resolves when the connection has ended, on either side. */
type SocketModeConnection = { over: Promise<void>; close(): Promise<void> };

/** For Slack's answer with the URL, and for its hello. */
const openTimeoutMs = 10_000;
/** Slack answers the goodbye, but leaves the TCP connection open. */
const goodbyeTimeoutMs = 500;

/** The client would log what it receives, and URLs that are as good as a token. */
const nothing = () => {};
const mute = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  setName: nothing,
};
const silentLogger = { ...mute, getLevel: () => "error" } as Logger;

/** The client's error where Slack refuses to open a connection. */
const refusedSchema = z.object({
  code: z.literal("slack_webapi_platform_error"),
  data: z.object({ error: z.string() }),
});

type ConnectionOptions = {
  appToken: () => Promise<string>;
  apiUrl: string;
  onEnvelope: (envelope: Envelope) => void;
};

/**
 * Opens one connection with Slack's client. Resolves after the hello. The client's own reconnecting is off: it waits five
 * seconds without a connection each time, gives up for good at a 5xx, and then ends the process with an unhandled rejection.
 */
async function openConnection({
  appToken,
  apiUrl,
  onEnvelope,
}: ConnectionOptions): Promise<SocketModeConnection> {
  const [{ SocketModeClient }, { Agent }] = await Promise.all([
    import("@slack/socket-mode"),
    import("undici"),
  ]);
  const connector = createConnector({ allowH2: false });
  const sockets = new Set<Socket>();
  const dispatcher = new Agent({
    connect: (options, callback) => connector(options, callback, (socket) => sockets.add(socket)),
  });
  const client = new SocketModeClient({
    appToken: await appToken(),
    autoReconnectEnabled: false,
    logger: silentLogger,
    dispatcher,
    clientOptions: {
      slackApiUrl: apiUrl,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: openTimeoutMs,
    },
  });
  takeEnvelopes({ client, onEnvelope });
  const over = new Promise<void>((resolve) => client.once("disconnected", () => resolve())).then(
    cut,
  );

  /** With a dispatcher of ours, the client does not end the connection itself if Slack does not. */
  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }

  async function close(): Promise<void> {
    await withinDeadline({ work: client.disconnect(), timeoutMs: goodbyeTimeoutMs }).catch(nothing);
    // The second time the connection is cut.
    client.websocket?.disconnect();
    cut();
  }

  try {
    await withinDeadline({ work: client.start(), timeoutMs: openTimeoutMs });
  } catch (error) {
    await close();
    const refusal = refusedSchema.safeParse(error).data;
    if (refusal !== undefined) throw toNamedError(refusal.data.error);
    // If the connection ended before the hello, the client rejects without an error.
    throw error ?? new Error("The connection ended before it began.");
  }
  return { over, close };
}

type EnvelopeSource = { client: SocketModeClient; onEnvelope: (envelope: Envelope) => void };

/**
 * Leaves only hello and goodbye to the client. For an envelope it would emit an event named after the payload. That name may
 * be one of its own events ("disconnected"). Without a name, as in `app_rate_limited`, it would end the process with an
 * unhandled rejection (https://docs.slack.dev/apis/events-api/#rate-limiting).
 */
function takeEnvelopes({ client, onEnvelope }: EnvelopeSource): void {
  const ofClient = client.listeners("ws_message");
  client.removeAllListeners("ws_message");
  client.on("ws_message", (data: unknown, isBinary: boolean) => {
    const frame = typeof data === "string" ? readFrame(data) : undefined;
    if (frame?.kind === "control") for (const listener of ofClient) listener(data, isBinary);
    if (frame?.kind !== "envelope") return;
    const { id, type, payload } = frame;
    onEnvelope({ type, payload, ack: (reply) => acknowledge({ client, id, reply }) });
  });
}

type Acknowledgement = { client: SocketModeClient; id: string; reply: object };

async function acknowledge({ client: { websocket }, id, reply }: Acknowledgement): Promise<void> {
  if (!websocket?.isActive()) throw new Error("The connection is gone.");
  await new Promise<void>((resolve, reject) => {
    websocket.send(JSON.stringify({ envelope_id: id, payload: reply }), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

/** `control`: Slack's hello or goodbye. */
type Frame = { kind: "control" } | { kind: "envelope"; id: string; type: string; payload: unknown };

const controlTypes: readonly string[] = ["hello", "disconnect"];
const frameSchema = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
});

/** Undefined for anything else. Without an id, an envelope cannot be acknowledged. */
function readFrame(text: string): Frame | undefined {
  const { data } = frameSchema.safeParse(readJson(text));
  if (data === undefined) return undefined;
  const { type, envelope_id: id, payload } = data;
  if (controlTypes.includes(type)) return { kind: "control" };
  return id === undefined ? undefined : { kind: "envelope", id, type, payload };
}
