/** Serves a page: admits who asks, finds the route, reads bodies within limits, and answers refusals in one line of plain text. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readRequestBody } from "@sekisho/runtime/http/read-body.ts";
import { sanitizeJsonValue, sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";
import { readJson } from "../read-json.ts";
import { type Admission, isForDocument, Refusal, type Visitor } from "./admission.ts";
import { tokenParameter } from "./door.ts";

export type PageRequest = {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  /** The segments of the path at each `*` of the route. */
  parts: readonly string[];
  visitor: Visitor;
  /** Rejects with a `Refusal` for a body of another type or beyond the limit. */
  bytes(body: { type: string; maxBytes: number }): Promise<Buffer>;
  /** The same for JSON. Undefined where it cannot be parsed. */
  json(): Promise<unknown>;
};

/** Resolves to the JSON of a 200, or to undefined after it has answered by itself. May throw a `Refusal`. */
export type Handler = (exchange: PageRequest) => unknown;

/** Routes by method and path, such as `GET /local/files/*`. A `*` matches one segment. */
export type Routes = Record<string, Handler>;

export type Site = {
  /** Answers and resolves to true. Resolves to false and does nothing if the address is not one of the site's. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
};

/** Headers of every answer. The browser must not cache, guess the content type, or send a referrer to other sites. */
export const commonHeaders = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Slack's limit for a message, and room for the JSON around it. */
const maxJsonBytes = 256 * 1024;

type SiteOptions = {
  home: string;
  signInPath?: string;
  isOwn: (path: string) => boolean;
  admission: Admission;
  openRoutes: Routes;
  routes: Routes;
};

/**
 * `home` is the page's document. `isOwn` returns true for the site's addresses. Anyone may use `openRoutes`. The other routes need
 * `admission`, and a person who is not signed in is redirected to `signInPath`, if there is one.
 */
export function createSite({
  home,
  signInPath,
  isOwn,
  admission,
  openRoutes,
  routes,
}: SiteOptions): Site {
  const [findOpen, find] = [createFinder(openRoutes), createFinder(routes)];

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<void> {
    const token = isForDocument(request) ? url.searchParams.get(tokenParameter) : null;
    const cookie = token === null ? undefined : admission.enter?.(request, token);
    // The browser keeps the address without the token.
    if (cookie !== undefined) return redirect(response.setHeader("set-cookie", cookie), home);
    const target = { method: request.method, path: url.pathname };
    const open = findOpen(target);
    const visitor = "handler" in open ? { operator: "anyone" } : await admission.admit(request);
    const foundRoute = "handler" in open ? open : find(target);
    if ("allow" in foundRoute) {
      if (foundRoute.allow === "") throw new Refusal(404, "There is nothing at this address.");
      throw new Refusal(405, "This address does not support this method.", {
        allow: foundRoute.allow,
      });
    }
    const bytes = (body: { type: string; maxBytes: number }) =>
      readBytes({ request, visitor, ...body });
    const result = await foundRoute.handler({
      ...{ request, response, query: url.searchParams, parts: foundRoute.parts, visitor, bytes },
      json: async () =>
        readJson((await bytes({ type: "application/json", maxBytes: maxJsonBytes })).toString()),
    });
    if (result !== undefined) respondJson(response, result);
  }

  return {
    async handle(request, response) {
      const url = URL.parse(request.url ?? "", "http://page.invalid");
      if (url === null || !isOwn(url.pathname)) return false;
      try {
        await answer(request, response, url);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const isUnknown = error.status === 401 && admission.signIn !== undefined;
        if (isUnknown && signInPath !== undefined && isForDocument(request))
          redirect(response, signInPath);
        else refuse(response, error);
      }
      return true;
    },
  };
}

type Found = { handler: Handler; parts: readonly string[] } | { allow: string };

/** Without a handler, `allow` holds the methods that the address takes. */
function createFinder(
  routes: Routes,
): (request: { method: string | undefined; path: string }) => Found {
  const compiledRoutes = Object.entries(routes).map(([name, handler]) => {
    const [method = "", pattern = ""] = name.split(" ");
    const segments = pattern.split("*").map((part) => part.replaceAll(".", "\\."));
    return { method, pattern: new RegExp(`^${segments.join("([^/]+)")}$`), handler };
  });
  return ({ method, path }) => {
    const fitting = compiledRoutes.filter(({ pattern }) => pattern.test(path));
    const matchingRoute = fitting.find((route) => route.method === method);
    if (matchingRoute === undefined)
      return { allow: fitting.map((route) => route.method).join(", ") };
    const [, ...parts] = matchingRoute.pattern.exec(path) ?? [];
    return { handler: matchingRoute.handler, parts };
  };
}

type BodyRequest = { request: IncomingMessage; visitor: Visitor; type: string; maxBytes: number };

async function readBytes({ request, visitor, type, maxBytes }: BodyRequest): Promise<Buffer> {
  const givenType = request.headers["content-type"]?.toLowerCase().split(";", 1)[0]?.trim();
  if (givenType !== type) throw new Refusal(415, `This address accepts only ${type}.`);
  const bytes = await readRequestBody({ request, maxBytes });
  if (typeof bytes === "string")
    throw new Refusal(413, `This is too large. The limit is ${formatSize(maxBytes)}.`);
  // A body may take its time, and somebody may have signed out meanwhile.
  if (visitor.ended?.aborted) throw new Refusal(401, "The session has ended. Sign in again.");
  return bytes;
}

function formatSize(bytes: number): string {
  const mebibyte = 1024 * 1024;
  return bytes >= mebibyte
    ? `${Math.floor(bytes / mebibyte)} MB`
    : `${Math.floor(bytes / 1024)} KB`;
}

export function respondJson(response: ServerResponse, body: unknown): void {
  sendPage(response, { type: "application/json", body: JSON.stringify(body, sanitizeJsonValue) });
}

export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { ...commonHeaders, location });
  response.end();
}

/** `headers` come last, so that an answer that may be kept can say so. */
export function sendPage(
  response: ServerResponse,
  {
    type,
    body,
    headers = {},
  }: { type: string; body: string | Uint8Array; headers?: Record<string, string> },
): void {
  response.writeHead(200, { ...commonHeaders, "content-type": type, ...headers });
  response.end(body);
}

function refuse(response: ServerResponse, { status, message, headers }: Refusal): void {
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  const type = { "content-type": "text/plain; charset=utf-8" };
  response.writeHead(status, { ...commonHeaders, ...type, ...challenge, ...headers });
  response.end(`${sanitizeLines(message)}\n`);
}
