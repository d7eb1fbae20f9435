/** Slack's side of Socket Mode on loopback. It sends an envelope again until it is acknowledged. */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { type WebSocket, WebSocketServer } from "ws";

export type SentEnvelope = { type: string; payload: unknown };

export type SocketModeSlack = Awaited<ReturnType<typeof startSocketModeSlack>>;

type Pending = SentEnvelope & {
  id: string;
  ackTimeoutMs: number;
  deliveries: number;
  resolve: (deliveries: number) => void;
};

/** The fake Slack with Socket Mode in front of it, and the tokens of an app there. */
export async function openSocketModeSlack(options: { linkOrigin?: string } = {}) {
  const tokens = {
    SLACK_APP_TOKEN: `xapp-1-${randomBytes(12).toString("hex")}`,
    SLACK_BOT_TOKEN: `xoxb-${randomBytes(12).toString("hex")}`,
  };
  const { SLACK_APP_TOKEN: appToken, SLACK_BOT_TOKEN: botToken } = tokens;
  const fakeSlack = await startFakeSlack({ signingSecret: "unused", botToken });
  const slack = await startSocketModeSlack({ ...options, appToken, forwardTo: fakeSlack.apiUrl });
  return {
    ...{ tokens, fakeSlack, slack },
    async close() {
      await slack.close();
      await fakeSlack.close();
    },
  };
}

/** `linkOrigin` is the origin of the WebSocket's URL where that is not the listener's own, as behind something that ends TLS. */
export async function startSocketModeSlack(options: {
  appToken: string;
  forwardTo?: string;
  linkOrigin?: string;
}) {
  const { appToken, forwardTo } = options;
  const tickets = new Set<string>();
  const replies: unknown[] = [];
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
    // Slack refuses a token in the body: https://docs.slack.dev/reference/methods/apps.connections.open
    if (authorization === "Bearer ") return json({ ok: false, error: "not_authed" });
    if (authorization.startsWith("Bearer xoxb-"))
      return json({ ok: false, error: "not_allowed_token_type" });
    if (authorization !== `Bearer ${appToken}`) return json({ ok: false, error: "invalid_auth" });
    const ticket = randomBytes(12).toString("hex");
    tickets.add(ticket);
    json({
      ok: true,
      url: `${options.linkOrigin ?? `ws://127.0.0.1:${port}`}/link/?ticket=${ticket}&app_id=A0APP00001`,
    });
  }

  function sendHello(socket: WebSocket): void {
    socket.on("message", (data) => {
      const { envelope_id, payload } = JSON.parse(String(data)) as {
        envelope_id?: string;
        payload?: unknown;
      };
      const acknowledged = envelope_id === undefined ? undefined : pending.get(envelope_id);
      if (acknowledged === undefined) return;
      pending.delete(acknowledged.id);
      replies.push(payload);
      acknowledged.resolve(acknowledged.deliveries);
    });
    socket.on("error", () => {});
    const connection_info = { app_id: "A0APP00001" };
    socket.send(
      JSON.stringify({ type: "hello", num_connections: sockets.clients.size, connection_info }),
    );
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
      JSON.stringify({
        envelope_id,
        type,
        payload,
        accepts_response_payload: type !== "events_api",
        ...retry,
      }),
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
    /** For `slackApiUrl`. It answers `apps.connections.open`, and passes other methods to `forwardTo`. */
    apiUrl: `http://127.0.0.1:${port}/api/`,
    /** Sends what is posted here over a connection instead. Answers 200 after the acknowledgement. */
    eventsUrl: `http://127.0.0.1:${port}/slack/events`,
    /** Waits for a connection, and resolves to the number of deliveries after the acknowledgement. Slack waits 3 s for one. */
    deliver,
    /** What came with the acknowledgements, in order. */
    replies: () => replies,
    /** Open connections. `hellos` counts all that ever opened. */
    connections: () => sockets.clients.size,
    hellos: () => hellos,
    /** Sends a frame to every connection. */
    say(text: string): void {
      for (const socket of sockets.clients) socket.send(text);
    },
    /** Announces the end of every connection, as Slack does about every hour. */
    refresh(): void {
      for (const socket of sockets.clients) {
        socket.send(
          JSON.stringify({
            type: "disconnect",
            reason: "refresh_requested",
            debug_info: { host: "loopback" },
          }),
        );
      }
    },
    /** Cuts all connections without an announcement. */
    cut(): void {
      for (const socket of sockets.clients) socket.terminate();
    },
    /** Makes `apps.connections.open` answer with an error's name, or an HTTP status. */
    refuse(answer: typeof refusal): void {
      refusal = answer;
    },
    /** New connections get no hello until `release`. `until` resolves at the first one. */
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
    async close(): Promise<void> {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

/** A body of Slack's HTTP requests as an envelope of Socket Mode. */
function envelopeOf(body: string): SentEnvelope {
  if (body.startsWith("{")) return { type: "events_api", payload: JSON.parse(body) };
  const form = new URLSearchParams(body);
  const payload = form.get("payload");
  if (payload !== null) return { type: "interactive", payload: JSON.parse(payload) };
  return { type: "slash_commands", payload: Object.fromEntries(form) };
}
