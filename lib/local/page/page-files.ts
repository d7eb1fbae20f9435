/** Files on the page: one that a person attaches, and one of a message that is looked at or saved. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readRequestBody } from "../../../lambdas/shared/http/read-body.ts";
import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import { findFakePerson } from "../fake-slack/workspace.ts";
import { commonHeaders, respondJson } from "../web/common-headers.ts";
import { imageTypes } from "./message-view.ts";
import { respondRefusal } from "./respond.ts";

type Exchange = { fakeSlack: FakeSlack; request: IncomingMessage; response: ServerResponse };

const maxFileBytes = 25 * 1024 * 1024;
const maxNameLength = 255;

/** `POST /local/files?name=…&type=…&user=…` with the bytes: the id for a message that brings the file along. */
export async function receiveFile({ fakeSlack, request, response }: Exchange): Promise<void> {
  if (request.headers["content-type"] !== "application/octet-stream") return respondRefusal(response, "not_bytes");
  const { searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
  const name = searchParams.get("name") ?? "";
  const mimetype = searchParams.get("type") || "application/octet-stream";
  const person = findFakePerson(searchParams.get("user") ?? undefined);
  const body = await readRequestBody({ request, maxBytes: maxFileBytes });
  if (typeof body === "string") return respondRefusal(response, "file_too_large");
  if (name === "" || name.length > maxNameLength || body.byteLength === 0) return respondRefusal(response, "no_file");
  const { id } = fakeSlack.upload({
    name,
    mimetype,
    bytes: body,
    ...(person === undefined ? {} : { user: person.id }),
  });
  respondJson(response, 202, { id });
}

/** Images are shown; everything else can only be saved, whatever it says that it is. */
export function serveFile({ fakeSlack, id, response }: Omit<Exchange, "request"> & { id: string }): void {
  const file = fakeSlack.file(id);
  if (file === undefined) {
    respondRefusal(response, "not_found");
    return;
  }
  const isImage = imageTypes.includes(file.mimetype);
  response.writeHead(200, {
    ...commonHeaders,
    // A file never changes, and each drawing of the page asks for its images again.
    "cache-control": "private, max-age=3600, immutable",
    "content-type": isImage ? file.mimetype : "application/octet-stream",
    "content-disposition": `${isImage ? "inline" : "attachment"}; filename*=UTF-8''${encodeURIComponent(file.name)}`,
    "content-security-policy": "default-src 'none'; sandbox",
    "content-length": file.bytes.byteLength,
  });
  response.end(file.bytes);
}
