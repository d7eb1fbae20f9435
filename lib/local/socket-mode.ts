/** Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode): Slack's events come over a connection of our own, so that no address of this machine has to be reachable. */

import { setTimeout as wait } from "node:timers/promises";
import type { Logger, SocketModeClient } from "@slack/socket-mode";
import * as z from "zod";
import { withinDeadline } from "../../lambdas/shared/async/deadline.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import { errorKind } from "../../lambdas/shared/telemetry/error-kind.ts";
import type { Intake } from "../../lambdas/verification/ingress/ingress.ts";
import type { VerifiedPayload } from "../../lambdas/verification/ingress/interpret-payload.ts";
import { toTokenError } from "./socket-mode-identity.ts";

export type SocketMode = { close(): Promise<void> };

/** As Slack's own client waits at most between two tries. */
const longestPauseMs = 30_000;
/** A connection that ended sooner counts as failed: Slack allows ten of an app at once and ends further ones. */
const shortLifeMs = 10_000;

/** What else may come is acknowledged and forgotten. */
const types: readonly VerifiedPayload["type"][] = ["events_api", "slash_commands", "interactive"];

/**
 * Resolves when Slack has said hello; rejects with words for a person where Slack does not take the token or is not to be reached.
 * An envelope is acknowledged after the queue has it: what is not, Slack delivers again, or tells the person that it did not work.
 * A connection that ends, as each does after an hour or so, is followed by another one. Texts and tokens are in no log line.
 */
export async function startSocketMode({
  appToken,
  apiUrl,
  intake,
  log,
  now = Date.now,
  random = Math.random,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
}: {
  appToken: () => Promise<string>;
  apiUrl: string;
  intake: Intake;
  log: Log;
  now?: () => number;
  random?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}): Promise<SocketMode> {
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();

  async function receive({ type: given, payload, ack }: Envelope): Promise<void> {
    const type = types.find((known) => known === given);
    const taken = type === undefined ? "dropped" : await intake({ type, payload });
    if (taken === "failed") return;
    // A connection that has ended meanwhile: Slack delivers again, and the request id is the same.
    await ack().catch(() => log.debug("socket_mode_unacknowledged"));
  }
  function onEnvelope(envelope: Envelope): void {
    const received = receive(envelope)
      .catch((thrown: unknown) => {
        log.error("socket_mode_failed", { cause_kind: errorKind(thrown) });
      })
      .finally(() => underWay.delete(received));
    underWay.add(received);
  }
  const connect = () => openSocketModeConnection({ appToken, apiUrl, onEnvelope });

  let connection: SocketModeConnection = await connect().catch((thrown: unknown) => {
    throw toTokenError({ thrown, apiUrl, name: "the app token", kind: "app" });
  });
  log.info("socket_mode_connected");

  async function stayConnected(): Promise<void> {
    let connectedAtMs = now();
    let isOver: Promise<void> | undefined = connection.over;
    for (let failures = 0; ; ) {
      // A connection that was made while the end began is closed by the one who ends.
      if (!stop.signal.aborted) await isOver;
      if (stop.signal.aborted) return;
      failures = isOver === undefined || now() - connectedAtMs < shortLifeMs ? failures + 1 : 0;
      const delayMs = failures === 0 ? 0 : Math.min(longestPauseMs, 1000 * 2 ** (failures - 1)) * random();
      log.info("socket_mode_disconnected", { delay_ms: Math.round(delayMs) });
      await sleep(delayMs, stop.signal).catch(() => {});
      if (stop.signal.aborted) return;
      isOver = undefined;
      try {
        connection = await connect();
        isOver = connection.over;
        connectedAtMs = now();
        log.info("socket_mode_connected");
      } catch (thrown) {
        log.error("socket_mode_unconnected", { cause_kind: errorKind(thrown) });
      }
    }
  }

  const staying = stayConnected();
  return {
    async close() {
      stop.abort();
      // What has come is acknowledged while the connection is there.
      await Promise.all(underWay);
      await connection.close();
      await staying;
      // A connection that was being made meanwhile.
      await connection.close();
      await Promise.all(underWay);
    },
  };
}

// One connection of Socket Mode, by Slack's own client.

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
async function openSocketModeConnection({
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

// What one frame of Socket Mode is (https://docs.slack.dev/apis/events-api/using-socket-mode).

/** `word`: Slack's hello or goodbye. */
export type Frame = { kind: "word" } | { kind: "envelope"; id: string; type: string; payload: unknown };

const words: readonly string[] = ["hello", "disconnect"];
const frameSchema = z.object({ type: z.string(), envelope_id: z.string().optional(), payload: z.unknown().optional() });

/** Undefined for what is neither: without an id nothing can be acknowledged. */
function readFrame(text: string): Frame | undefined {
  const { data } = frameSchema.safeParse(parse(text));
  if (data === undefined) return undefined;
  const { type, envelope_id: id, payload } = data;
  if (words.includes(type)) return { kind: "word" };
  return id === undefined ? undefined : { kind: "envelope", id, type, payload };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
