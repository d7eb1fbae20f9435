/** The page's answers, and what whoever is refused reads: one line of what is wrong and what to do. */
import type { ServerResponse } from "node:http";
import { commonHeaders } from "../web/common-headers.ts";

const refusals = {
  unreadable: { status: 400, text: "A text of 1 to 40,000 characters is needed." },
  no_place: { status: 400, text: "There is no such channel or thread." },
  no_button: { status: 400, text: "The message has no such button any more." },
  no_file: { status: 400, text: "A file with a name and at least one byte is needed." },
  no_session: { status: 401, text: "This page needs the token of this run." },
  not_own_page: { status: 403, text: "Only the page of this server may ask this, under its own address." },
  not_found: { status: 404, text: "There is nothing at this address." },
  other_method: { status: 405, text: "This address takes another method." },
  too_large: { status: 413, text: "The message is too long." },
  file_too_large: { status: 413, text: "The file is larger than the page takes: 25 MB." },
  not_json: { status: 415, text: "Messages are taken as application/json." },
  not_bytes: { status: 415, text: "Files are taken as application/octet-stream." },
} as const;

export type PageRefusal = keyof typeof refusals;

/** Nothing of the request is repeated in it. */
export function respondRefusal(response: ServerResponse, why: PageRefusal): void {
  const { status, text } = refusals[why];
  response.writeHead(status, { ...commonHeaders, "content-type": "text/plain; charset=utf-8" });
  response.end(`${text} Open the address that npm start printed, on this machine.\n`);
}
