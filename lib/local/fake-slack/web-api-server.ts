/** The fake Slack's HTTP side: what the Web API and Slack's files look like from outside, faults included. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readBody } from "../../../lambdas/shared/http/read-body.ts";
import { applyFault, type Faults, sendReply } from "./faults.ts";
import { type FileExchange, serveFiles } from "./file-server.ts";
import { errorReply, type FakeSlackMethod, hasAccessToTeam, type MethodArgs, type MethodReply } from "./reply.ts";
import { createFakeSlackTokens, type FakeSlackTokens } from "./tokens.ts";

/** A call as it was answered. */
export type FakeSlackCall = { method: string; args: MethodArgs; reply: MethodReply };

export type WebApiServer = { apiUrl: string; close(): Promise<void> };

const maxBodyBytes = 1024 * 1024;
const jsonArgs = ["blocks", "metadata", "files", "prompts"];
/** Methods for which the app's own credentials stand in for a token. */
const openMethods: ReadonlySet<string> = new Set(["oauth.v2.access"]);

export async function startWebApiServer({
  methods,
  faults,
  botToken,
  tokens = createFakeSlackTokens({ botToken }),
  files,
  scopes,
  hostname,
  port,
  onCall,
}: {
  methods: ReadonlyMap<string, FakeSlackMethod>;
  faults: Faults;
  botToken: string;
  tokens?: FakeSlackTokens;
  /** Without it there are no files. */
  files?: FileExchange;
  /** Of every token. */
  scopes?: readonly string[] | undefined;
  hostname: string;
  port: number;
  onCall: (call: FakeSlackCall) => void;
}): Promise<WebApiServer> {
  const stop = new AbortController();
  const { signal } = stop;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (files !== undefined && (await serveFiles({ request, response, files, tokens, faults, signal }))) return;
    const [, name = ""] = /^\/api\/([A-Za-z.0-9]+)$/.exec(request.url ?? "") ?? [];
    if (request.method !== "POST" || name === "") return sendReply(response, 404);
    const body = await readBody({ body: request, maxBytes: maxBodyBytes });
    if (body === "too_large") return sendReply(response, 413);
    const fault = faults.take(name);
    if (fault !== undefined && (await applyFault({ fault, request, response, signal }))) return;
    const reply = carryOut(name, request, body.toString());
    if (fault?.type === "lost_answer") return void request.socket.destroy();
    // Slack says so with every answer to a token that it knows.
    if (scopes !== undefined && !("ok" in callerOf(request.headers.authorization ?? ""))) {
      response.setHeader("x-oauth-scopes", scopes.join(","));
    }
    sendReply(response, 200, reply);
  }

  function carryOut(name: string, request: IncomingMessage, body: string): MethodReply {
    const method = methods.get(name);
    if (method === undefined) return errorReply("unknown_method");
    const { authorization = "", "content-type": type = "" } = request.headers;
    const caller = openMethods.has(name) ? { team: "" } : callerOf(authorization);
    if ("ok" in caller) return caller;
    if (!type.startsWith("application/x-www-form-urlencoded")) return errorReply("invalid_form_data");
    if (!isUtf8(body)) return errorReply("invalid_charset");
    const args: MethodArgs = { ...Object.fromEntries(new URLSearchParams(body)), ...basicArgs(authorization) };
    if (jsonArgs.some((arg) => hasHalfCharacter(args[arg]))) return errorReply("invalid_arguments");
    const isGranted = args.team_id === undefined || "team" in caller || hasAccessToTeam(caller, args.team_id);
    const reply = isGranted ? method(args, caller) : errorReply("team_access_not_granted");
    onCall({ method: name, args, reply });
    return reply;
  }

  function callerOf(authorization: string) {
    const token = /^Bearer (.+)$/.exec(authorization)?.[1];
    if (token === undefined) return errorReply("not_authed");
    const caller = tokens.of(token);
    if (caller === "revoked") return errorReply("account_inactive");
    return caller ?? errorReply("invalid_auth");
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

/** `URLSearchParams` would put U+FFFD in the place of what is no UTF-8. */
function isUtf8(form: string): boolean {
  try {
    decodeURIComponent(form);
    return true;
  } catch {
    return false;
  }
}

/** JSON can name half a surrogate pair by an escape. */
function hasHalfCharacter(json: string | undefined): boolean {
  let found = false;
  try {
    JSON.parse(json ?? "", (_name, value: unknown) => {
      found ||= typeof value === "string" && !value.isWellFormed();
      return value;
    });
  } catch {
    // The method says what is wrong with it.
  }
  return found;
}

/** The app's credentials by HTTP Basic, which `oauth.v2.access` takes instead of arguments. */
function basicArgs(authorization: string): MethodArgs {
  const encoded = /^Basic (.+)$/.exec(authorization)?.[1];
  if (encoded === undefined) return {};
  const [client_id, client_secret] = Buffer.from(encoded, "base64").toString().split(":").map(decodeURIComponent);
  return { client_id, client_secret };
}
