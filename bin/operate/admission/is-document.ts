/** Whether a request is for a document itself, to which a link of another site may lead. */
import type { IncomingMessage } from "node:http";
import { documentPaths } from "../paths.ts";

export function isDocument({ method, url }: IncomingMessage): boolean {
  return method === "GET" && documentPaths.includes(url?.split("?", 1)[0] ?? "");
}
