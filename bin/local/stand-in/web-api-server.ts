/** The stand-in's HTTP side: what the Web API looks like from outside, faults included. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Fault, Faults } from "./faults.ts";
import type { Method, MethodArgs, MethodReply } from "./methods.ts";

/** A call as it was answered. */
export type StandInCall = { method: string; args: MethodArgs; reply: MethodReply };

export type WebApiServer = { apiUrl: string; close(): Promise<void> };

const maxBodyBytes = 1024 * 1024;

export async function startWebApiServer({
  methods,
  faults,
  botToken,
  hostname,
  port,
  onCall,
}: {
  methods: ReadonlyMap<string, Method>;
  faults: Faults;
  botToken: string;
  hostname: string;
  port: number;
  onCall: (call: StandInCall) => void;
}): Promise<WebApiServer> {
  const stop = new AbortController();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = ""] = /^\/api\/([A-Za-z.]+)$/.exec(request.url ?? "") ?? [];
    if (request.method !== "POST" || name === "") return send(response, 404);
    const body = await readBody(request);
    if (body === undefined) return send(response, 413);
    const fault = faults.take(name);
    if (fault !== undefined && (await refuse({ fault, request, response, signal: stop.signal }))) return;
    const reply = carryOut(name, request, body);
    if (fault?.type === "lost_answer") return void request.socket.destroy();
    send(response, 200, reply);
  }

  function carryOut(name: string, request: IncomingMessage, body: string): MethodReply {
    const method = methods.get(name);
    if (method === undefined) return { ok: false, error: "unknown_method" };
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined) return { ok: false, error: "not_authed" };
    if (token !== botToken) return { ok: false, error: "invalid_auth" };
    if (!request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded")) {
      return { ok: false, error: "invalid_form_data" };
    }
    const args = Object.fromEntries(new URLSearchParams(body));
    const reply = method(args);
    onCall({ method: name, args, reply });
    return reply;
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, hostname, listening.resolve);
  await listening.promise;
  return {
    apiUrl: `http://${hostname}:${(server.address() as AddressInfo).port}/api/`,
    async close() {
      stop.abort();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

/** Resolves to true where the fault has answered, and nothing is to be done any more. */
async function refuse({
  fault,
  request,
  response,
  signal,
}: {
  fault: Fault;
  request: IncomingMessage;
  response: ServerResponse;
  signal: AbortSignal;
}): Promise<boolean> {
  switch (fault.type) {
    case "rate_limited":
      response.setHeader("retry-after", fault.retryAfterSeconds);
      send(response, 429, { ok: false, error: "ratelimited" });
      return true;
    case "status":
      send(response, fault.status);
      return true;
    case "error":
      send(response, 200, { ok: false, error: fault.error });
      return true;
    case "reset":
      request.socket.destroy();
      return true;
    case "late":
      await wait(fault.delayMs, undefined, { signal });
      return false;
    case "lost_answer":
      return false;
  }
}

function send(response: ServerResponse, status: number, reply?: MethodReply): void {
  response.writeHead(status, { "content-type": reply === undefined ? "text/html" : "application/json; charset=utf-8" });
  response.end(reply === undefined ? "<html>not an API answer</html>" : JSON.stringify(reply));
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
