/** Slack's files over HTTP: the address that takes an upload, and the one that gives a file to whoever has the token. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "../../../lambdas/shared/http/read-body.ts";
import { applyFault, type Faults, sendReply } from "./faults.ts";
import type { FakeSlackFiles } from "./files.ts";
import { hasAccessToTeam } from "./reply.ts";
import type { FakeSlackTokens } from "./tokens.ts";

export type FileExchange = Pick<FakeSlackFiles, "take" | "find">;

const maxUploadBytes = 128 * 1024 * 1024;

/** Resolves to false where the address is none of a file. Faults are those of `upload` and `download`. */
export async function serveFiles({
  request,
  response,
  files,
  tokens,
  faults,
  signal,
}: {
  request: IncomingMessage;
  response: ServerResponse;
  files: FileExchange;
  tokens: FakeSlackTokens;
  faults: Faults;
  signal: AbortSignal;
}): Promise<boolean> {
  const path = request.url ?? "";
  const [, ticket] = /^\/upload\/v1\/([\w-]+)$/.exec(path) ?? [];
  const [, id] = /^\/files-pri\/[A-Z0-9]+-([A-Z0-9]+)\/(?:download\/)?[^/]+$/.exec(path) ?? [];
  if (ticket === undefined && id === undefined) return false;
  const fault = faults.take(ticket === undefined ? "download" : "upload");
  if (fault !== undefined && (await applyFault({ fault, request, response, signal }))) return true;
  if (ticket !== undefined) await takeUpload(ticket);
  else if (id !== undefined) giveFile(id);
  return true;

  async function takeUpload(ticketOfUpload: string): Promise<void> {
    if (request.method !== "POST") return sendReply(response, 400);
    const body = await readBody({ body: request, maxBytes: maxUploadBytes });
    if (body === "too_large") return sendReply(response, 400);
    const bytes = await bytesOf({ body, type: request.headers["content-type"] });
    const isTaken = bytes !== undefined && files.take({ ticket: ticketOfUpload, bytes });
    if (fault?.type === "lost_answer") return void request.socket.destroy();
    if (!isTaken) return sendReply(response, 400);
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(`OK - ${bytes.byteLength}`);
  }

  function giveFile(fileId: string): void {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const caller = token === undefined ? undefined : tokens.of(token);
    const file = files.find(fileId);
    if (file === undefined) {
      sendReply(response, 404);
      return;
    }
    const isAtHome =
      caller !== undefined && caller !== "revoked" && (hasAccessToTeam(caller, file.team) || isGuest(file.team));
    // As Slack does it: who may not read a file gets a page to sign in, with 200.
    if (!isAtHome) {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in</body></html>");
      return;
    }
    response.writeHead(200, { "content-type": file.mimetype, "content-length": file.bytes.byteLength });
    response.end(file.bytes);
  }
}

/** A file of the second workspace is in the channel that is shared with the first. */
function isGuest(team: string): boolean {
  return team === "TSECOND";
}

/** Raw, or the first file of a form. */
async function bytesOf({
  body,
  type = "",
}: {
  body: Buffer;
  type: string | undefined;
}): Promise<Uint8Array | undefined> {
  if (!type.startsWith("multipart/form-data")) return body;
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const [file] = [...form.values()].filter((value) => typeof value !== "string");
  return file === undefined ? undefined : new Uint8Array(await file.arrayBuffer());
}
