/** The local page: what a Slack user would see, and beside it the way of each task. Served by the Verification zone's own server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "../../../lambdas/verification/ingress/read-body.ts";
import type { Page } from "../../../lambdas/verification/ingress/server.ts";
import { commonHeaders, respondJson } from "../../web/common-headers.ts";
import { refusalOf } from "../../web/guard.ts";
import { isType, one, parseJson } from "../../web/request.ts";
import type { Journey } from "../journey/journey.ts";
import { watchStandIn } from "../journey/slack-steps.ts";
import type { SlackStandIn } from "../slack-stand-in.ts";
import { createDeeds, type Deed } from "./deeds.ts";
import { filePath, loadDocument } from "./document.ts";
import { createEventStream } from "./event-stream.ts";
import { giveFile, takeFile } from "./page-files.ts";
import { refuse } from "./respond.ts";

/** `handle` is for `startVerificationServer`; `close` before the server's, so that open streams do not hold it up. */
export type LocalPage = { handle: Page; close(): void };

type Route = { method: "GET" | "POST"; answer: (request: IncomingMessage, response: ServerResponse) => unknown };

/** Slack's limit for a message, and then some for the JSON around it. */
const maxBodyBytes = 256 * 1024;

/**
 * `GET /`, its scripts, `GET /local/events` (server-sent events), files in both directions, and `POST` of what a person does:
 * `/local/messages`, `/local/presses`, `/local/conversations`. The page makes the stand-in sign requests, so everything is
 * refused with 403 to everyone but its own tab. Every other path is a 404. Requests go to `/slack/events` of the server that
 * serves the page.
 */
export function createPage({ standIn, journey }: { standIn: SlackStandIn; journey: Journey }): LocalPage {
  const document = loadDocument();
  const stream = createEventStream({ standIn, journey });
  watchStandIn({ standIn, journey });

  function taking(deed: Deed): Route {
    return {
      method: "POST",
      async answer(request, response) {
        if (!isType(request, "application/json")) return refuse(request, response, "not_json");
        const body = await readBody({ request, maxBytes: maxBodyBytes });
        if (body === undefined) return refuse(request, response, "too_large");
        const outcome = deed(parseJson(body), eventsUrlOf(request));
        if ("refused" in outcome) return refuse(request, response, outcome.refused);
        return respondJson(response, 202, outcome.done);
      },
    };
  }

  const deeds = Object.entries(createDeeds({ standIn, journey }));
  const routes = new Map<string, Route>([
    [
      "/",
      {
        method: "GET",
        answer(request, response) {
          response.setHeader("content-security-policy", document.contentSecurityPolicy(request.headers.host ?? ""));
          response.writeHead(200, { ...commonHeaders, "content-type": "text/html; charset=utf-8" });
          response.end(document.html);
        },
      },
    ],
    ["/local/events", { method: "GET", answer: (_request, response) => stream.open(response) }],
    ["/local/files", { method: "POST", answer: (request, response) => takeFile({ standIn, request, response }) }],
    ...deeds.map(([name, deed]): [string, Route] => [`/local/${name}`, taking(deed)]),
    ...[...document.scripts].map(([path, script]): [string, Route] => [path, scriptRoute(script)]),
  ]);

  function routeOf(path: string): Route | undefined {
    if (!path.startsWith(filePath)) return routes.get(path);
    const id = path.slice(filePath.length);
    return { method: "GET", answer: (request, response) => giveFile({ standIn, id, request, response }) };
  }

  return {
    async handle(request, response) {
      const path = request.url?.split("?", 1)[0] ?? "";
      const route = routeOf(path);
      if (route === undefined) {
        refuse(request, response, "not_found");
        return true;
      }
      const { host, origin, "sec-fetch-site": fetchSite } = request.headers;
      const site = path === "/" ? undefined : one(fetchSite);
      const refusal = refusalOf({
        method: request.method,
        host,
        origin,
        fetchSite: site,
        port: request.socket.localPort,
      });
      if (refusal !== undefined) refuse(request, response, "not_own_page");
      else if (request.method !== route.method)
        refuse(request, response.setHeader("allow", route.method), "other_method");
      else await route.answer(request, response);
      return true;
    },
    close: stream.close,
  };
}

function scriptRoute(script: string): Route {
  return {
    method: "GET",
    answer(_request, response) {
      response.writeHead(200, { ...commonHeaders, "content-type": "text/javascript; charset=utf-8" });
      response.end(script);
    },
  };
}

function eventsUrlOf({ socket }: IncomingMessage): string {
  return `http://127.0.0.1:${socket.localPort}/slack/events`;
}
