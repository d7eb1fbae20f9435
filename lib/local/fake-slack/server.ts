/** The fake Slack over HTTP: the Web API, uploads and downloads of files, with faults on demand. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readBody } from "@sekisho/runtime/http/read-body.ts";
import { startListening } from "@sekisho/runtime/http/server.ts";
import { applyFault, type FakeRequest, type Fault, sendReply, type TakeFault } from "./faults.ts";
import { mayReadFile } from "./methods/files.ts";
import type { MethodArgs, MethodReply } from "./reply.ts";
import type { FakeSlackState } from "./state.ts";
import { answerCall, createRateLimits, findCaller } from "./web-api.ts";

/** A call that reached its method, and the reply. */
export type FakeSlackCall = { method: string; args: MethodArgs; reply: MethodReply };

const maxBodyBytes = 1024 * 1024;
const maxUploadBytes = 128 * 1024 * 1024;

type ServerOptions = {
  state: FakeSlackState;
  takeFault: TakeFault;
  onCall?: (call: FakeSlackCall) => void;
};

/** Listens on a free port of loopback, and sets the state's URL. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export async function startSlackServer({
  state,
  takeFault,
  onCall = () => {},
}: ServerOptions): Promise<{ apiUrl: string; close(): Promise<void> }> {
  const stop = new AbortController();
  const exceeds = createRateLimits(state.now);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = { request, response, signal: stop.signal };
    const { method, url = "", headers } = request;
    const [, ticket] = /^\/upload\/v1\/([\w-]+)$/.exec(url) ?? [];
    const [, file] = /^\/files-pri\/[A-Z0-9]+-([A-Z0-9]+)\/(?:download\/)?[^/]+$/.exec(url) ?? [];
    if (ticket !== undefined)
      return withFault("upload", exchange, (fault) => takeUpload(exchange, ticket, fault));
    if (file !== undefined) return withFault("download", exchange, () => giveFile(exchange, file));
    const [, name] = /^\/api\/([A-Za-z.0-9]+)$/.exec(url) ?? [];
    if (method !== "POST" || name === undefined) return sendReply(response, 404);
    const body = await readBody({ body: request, maxBytes: maxBodyBytes });
    if (body === "too_large") return sendReply(response, 413);
    await withFault(name, exchange, async (fault) => {
      const { reply, args } = answerCall(state, { name, headers, body: body.toString() });
      if (args !== undefined) onCall({ method: name, args, reply });
      if (fault?.type === "lost_answer") return void request.socket.destroy();
      // Slack lists a token's scopes in every answer to it.
      const isKnown = typeof findCaller(state.tokens, headers.authorization) !== "string";
      if (state.rules.scopes !== undefined && isKnown) {
        response.setHeader("x-oauth-scopes", state.rules.scopes.join(","));
      }
      sendReply(response, 200, reply);
    });
  }

  /** Runs `act`, unless a fault or the rate limit answers instead. */
  async function withFault(
    name: string,
    exchange: FakeRequest,
    act: (fault: Fault | undefined) => Promise<void>,
  ) {
    const fault = takeFault(name) ?? rateLimit(name, exchange.request.headers.authorization);
    if (fault === undefined || !(await applyFault(fault, exchange))) await act(fault);
  }

  function rateLimit(method: string, authorization: string | undefined): Fault | undefined {
    const retryAfterSeconds = state.rules.limitsRates ? exceeds(method, authorization) : undefined;
    return retryAfterSeconds === undefined
      ? undefined
      : { method, type: "rate_limited", retryAfterSeconds };
  }

  async function takeUpload(
    { request, response }: FakeRequest,
    ticket: string,
    fault: Fault | undefined,
  ): Promise<void> {
    if (request.method !== "POST") return sendReply(response, 400);
    const body = await readBody({ body: request, maxBytes: maxUploadBytes });
    if (body === "too_large") return sendReply(response, 400);
    const bytes = await uploadedBytes(body, request.headers["content-type"]);
    const isTaken = bytes !== undefined && state.files.upload(ticket, bytes);
    if (fault?.type === "lost_answer") return void request.socket.destroy();
    if (!isTaken) return sendReply(response, 400);
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(`OK - ${bytes.byteLength}`);
  }

  async function giveFile({ request, response }: FakeRequest, id: string): Promise<void> {
    const file = state.files.find(id);
    if (file === undefined) return sendReply(response, 404);
    const caller = findCaller(state.tokens, request.headers.authorization);
    if (typeof caller === "string" || !mayReadFile(caller, file)) {
      // Slack answers with a page to sign in, and 200.
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end(
        "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in</body></html>",
      );
      return;
    }
    response.writeHead(200, {
      "content-type": file.mimetype,
      "content-length": file.bytes.byteLength,
    });
    response.end(file.bytes);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const listener = { server, hostname: "127.0.0.1", port: 0, portSetting: "0" };
  state.url = `http://127.0.0.1:${await startListening(listener)}/`;
  return {
    /** Ends with a slash, as Slack's own. */
    apiUrl: `${state.url}api/`,
    async close() {
      stop.abort();
      const closing = Promise.withResolvers<void>();
      server.close(() => closing.resolve());
      server.closeAllConnections();
      await closing.promise;
    },
  };
}

/** The raw body, or the first file of a form. */
async function uploadedBytes(body: Buffer, type = ""): Promise<Uint8Array | undefined> {
  if (!type.startsWith("multipart/form-data")) return body;
  const form = await new Response(new Uint8Array(body), {
    headers: { "content-type": type },
  }).formData();
  const file = [...form.values()].find((value) => typeof value !== "string");
  return file && new Uint8Array(await file.arrayBuffer());
}
