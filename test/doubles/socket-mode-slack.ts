/** Slack's side of Socket Mode on loopback: connections, envelopes, what is not acknowledged comes again. */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export type SentEnvelope = { type: string; payload: unknown };

export type SocketModeSlack = {
  /** For `slackApiUrl`: `apps.connections.open` is answered here, everything else by `forwardTo`. */
  apiUrl: string;
  /** What is posted here as to an app's events URL comes over the connections instead; 200 when it was acknowledged. */
  eventsUrl: string;
  /** Resolves to how often it was delivered when it was acknowledged; it waits for a connection where there is none. Slack waits 3 s for that. */
  deliver(envelope: SentEnvelope, options?: { ackTimeoutMs?: number }): Promise<number>;
  /** The connections there are; each hello made one. */
  connections(): number;
  hellos(): number;
  /** Sends it as a frame of its own to every connection. */
  say(text: string): void;
  /** As Slack does about every hour: says so, and ends the connection. */
  refresh(): void;
  /** Cuts all connections without a word. */
  cut(): void;
  /** What `apps.connections.open` says from now on instead: an error's name, or an HTTP status. */
  refuse(answer: string | number | undefined): void;
  /** Connections are open from now on without a hello until `release`; `until` resolves at the first one. */
  holdHellos(): { until: Promise<void>; release(): void };
  close(): Promise<void>;
};

type Pending = SentEnvelope & {
  id: string;
  ackTimeoutMs: number;
  deliveries: number;
  resolve: (deliveries: number) => void;
};

export async function startSocketModeSlack({
  appToken,
  forwardTo,
}: {
  appToken: string;
  forwardTo?: string;
}): Promise<SocketModeSlack> {
  const tickets = new Set<string>();
  const pending = new Map<string, Pending>();
  const timers = new Set<NodeJS.Timeout>();
  let refusal: string | number | undefined;
  let hellos = 0;
  let held: { connected: () => void; released: Promise<void> } | undefined;

  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ noServer: true });
  http.on("upgrade", (request, socket, head) => {
    const ticket = new URL(request.url ?? "/", "http://loopback").searchParams.get("ticket") ?? "";
    // A ticket opens one connection.
    if (!tickets.delete(ticket)) return void socket.destroy();
    sockets.handleUpgrade(request, socket, head, async (connection) => {
      held?.connected();
      await held?.released;
      sendHello(connection);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const json = (body: unknown) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.url === "/slack/events") {
      await deliver(envelopeOf(Buffer.concat(chunks).toString()));
      return void response.writeHead(200).end();
    }
    const method = request.url?.replace(/^\/api\//, "") ?? "";
    if (method !== "apps.connections.open") {
      if (forwardTo === undefined) return json({ ok: false, error: "unknown_method" });
      const { "content-type": type = "", authorization = "" } = request.headers;
      const headers = { "content-type": type, authorization };
      const answered = await fetch(new URL(method, forwardTo), {
        method: "POST",
        headers,
        body: Buffer.concat(chunks),
      });
      return void response
        .writeHead(answered.status, { "content-type": "application/json" })
        .end(await answered.text());
    }
    if (typeof refusal === "number") return void response.writeHead(refusal).end();
    if (refusal !== undefined) return json({ ok: false, error: refusal });
    const { authorization = "" } = request.headers;
    // In the body it is refused: https://docs.slack.dev/reference/methods/apps.connections.open
    if (authorization === "Bearer ") return json({ ok: false, error: "not_authed" });
    if (authorization.startsWith("Bearer xoxb-")) return json({ ok: false, error: "not_allowed_token_type" });
    if (authorization !== `Bearer ${appToken}`) return json({ ok: false, error: "invalid_auth" });
    const ticket = randomBytes(12).toString("hex");
    tickets.add(ticket);
    json({ ok: true, url: `ws://127.0.0.1:${port}/link/?ticket=${ticket}&app_id=A0APP00001` });
  }

  function sendHello(socket: WebSocket): void {
    socket.on("message", (data) => {
      const { envelope_id } = JSON.parse(String(data)) as { envelope_id?: string };
      const acknowledged = envelope_id === undefined ? undefined : pending.get(envelope_id);
      if (acknowledged === undefined) return;
      pending.delete(acknowledged.id);
      acknowledged.resolve(acknowledged.deliveries);
    });
    socket.on("error", () => {});
    const connection_info = { app_id: "A0APP00001" };
    socket.send(JSON.stringify({ type: "hello", num_connections: sockets.clients.size, connection_info }));
    hellos += 1;
    for (const envelope of pending.values()) sendOne(envelope);
  }

  function sendOne(envelope: Pending): void {
    const socket = [...sockets.clients].find(({ readyState, OPEN }) => readyState === OPEN);
    if (socket === undefined || !pending.has(envelope.id)) return;
    const { id: envelope_id, type, payload, deliveries } = envelope;
    envelope.deliveries += 1;
    const retry = deliveries === 0 ? {} : { retry_attempt: deliveries, retry_reason: "timeout" };
    socket.send(
      JSON.stringify({ envelope_id, type, payload, accepts_response_payload: type !== "events_api", ...retry }),
    );
    const timer = setTimeout(() => {
      timers.delete(timer);
      sendOne(envelope);
    }, envelope.ackTimeoutMs);
    timers.add(timer);
  }

  function deliver({ type, payload }: SentEnvelope, { ackTimeoutMs = 3000 } = {}): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const envelope = { type, payload, id: randomUUID(), ackTimeoutMs, deliveries: 0, resolve };
    pending.set(envelope.id, envelope);
    sendOne(envelope);
    return promise;
  }

  return {
    apiUrl: `http://127.0.0.1:${port}/api/`,
    eventsUrl: `http://127.0.0.1:${port}/slack/events`,
    deliver,
    connections: () => sockets.clients.size,
    hellos: () => hellos,
    say(text) {
      for (const socket of sockets.clients) socket.send(text);
    },
    refresh() {
      for (const socket of sockets.clients) {
        socket.send(
          JSON.stringify({ type: "disconnect", reason: "refresh_requested", debug_info: { host: "loopback" } }),
        );
      }
    },
    cut() {
      for (const socket of sockets.clients) socket.terminate();
    },
    refuse(answer) {
      refusal = answer;
    },
    holdHellos() {
      const [connected, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held = { connected: connected.resolve, released: released.promise };
      return {
        until: connected.promise,
        release() {
          held = undefined;
          released.resolve();
        },
      };
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

/** What Slack posts over HTTP, as it sends it over Socket Mode. */
function envelopeOf(body: string): SentEnvelope {
  if (body.startsWith("{")) return { type: "events_api", payload: JSON.parse(body) };
  const form = new URLSearchParams(body);
  const payload = form.get("payload");
  if (payload !== null) return { type: "interactive", payload: JSON.parse(payload) };
  return { type: "slash_commands", payload: Object.fromEntries(form) };
}
