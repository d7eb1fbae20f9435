/** Tells what a request is for, as far as permissions depend on it. */
import type { IncomingMessage } from "node:http";
import { documentPaths } from "../paths.ts";

/** For a document itself, to which a link of another site may lead. */
export function isDocument({ method, url }: IncomingMessage): boolean {
  return method === "GET" && documentPaths.includes(url?.split("?", 1)[0] ?? "");
}

/** Somebody is there: a page that only keeps itself up to date must not keep its session alive. */
export function isActivity(request: IncomingMessage): boolean {
  return request.method === "POST" || isDocument(request) || request.headers["x-operator-active"] !== undefined;
}
