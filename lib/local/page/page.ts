/** The local page: what a Slack user would see, and beside it the way of each task. Served by the Verification zone's own server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readRequestBody } from "../../../lambdas/shared/http/read-body.ts";
import type { Page } from "../../../lambdas/verification/ingress/server.ts";
import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import { watchFakeSlack } from "../recorder/slack-steps.ts";
import type { StepRecorder } from "../recorder/step-recorder.ts";
import { commonHeaders, respondJson } from "../web/common-headers.ts";
import { type Door, readToken } from "../web/door.ts";
import { hasContentType, parseJson } from "../web/request.ts";
import { createPageActions, type PageAction } from "./actions.ts";
import { filePath, loadDocument } from "./document.ts";
import { createEventStream } from "./event-stream.ts";
import { receiveFile, serveFile } from "./page-files.ts";
import { respondRefusal } from "./respond.ts";

/** `handle` is for `startVerificationServer`; `close` before the server's, so that open streams do not hold it up. */
export type LocalPage = { handle: Page; close(): void };

type Route = {
  method: "GET" | "POST";
  answer: (request: IncomingMessage, response: ServerResponse, ended: AbortSignal) => unknown;
};

/** Slack's limit for a message, and then some for the JSON around it. */
const maxBodyBytes = 256 * 1024;
const eventsPath = "/local/events";

/**
 * `GET /`, its scripts, `GET /local/events` (server-sent events), files in both directions, and `POST` of what a person does:
 * `/local/messages`, `/local/clicks`, `/local/conversations`. The page makes the fake Slack sign requests, so everything is
 * refused to everyone but its own tab, in a browser that came by
 * the printed address. Every other path is a 404. Requests go to `/slack/events` of the server that
 * serves the page.
 */
export function createPage({
  fakeSlack,
  stepRecorder,
  door,
}: {
  fakeSlack: FakeSlack;
  stepRecorder: StepRecorder;
  door: Door;
}): LocalPage {
  const document = loadDocument();
  const stream = createEventStream({ fakeSlack, stepRecorder });
  watchFakeSlack({ fakeSlack, stepRecorder });

  function taking(deed: PageAction): Route {
    return {
      method: "POST",
      async answer(request, response) {
        if (!hasContentType(request, "application/json")) return respondRefusal(response, "not_json");
        const body = await readRequestBody({ request, maxBytes: maxBodyBytes });
        if (typeof body === "string") return respondRefusal(response, "too_large");
        const outcome = deed(parseJson(body), eventsUrlOf(request));
        if ("refused" in outcome) return respondRefusal(response, outcome.refused);
        return respondJson(response, 202, outcome.done);
      },
    };
  }

  const deeds = Object.entries(createPageActions({ fakeSlack, stepRecorder }));
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
    [eventsPath, { method: "GET", answer: (_request, response, ended) => stream.open(response, { ended }) }],
    ["/local/files", { method: "POST", answer: (request, response) => receiveFile({ fakeSlack, request, response }) }],
    ...deeds.map(([name, deed]): [string, Route] => [`/local/${name}`, taking(deed)]),
    ...[...document.scripts].map(([path, script]): [string, Route] => [path, scriptRoute(script)]),
  ]);

  function routeOf(path: string): Route | undefined {
    if (!path.startsWith(filePath)) return routes.get(path);
    const id = path.slice(filePath.length);
    return { method: "GET", answer: (_request, response) => serveFile({ fakeSlack, id, response }) };
  }

  /** The address without the token is the one that the browser keeps. */
  function enter(request: IncomingMessage, response: ServerResponse, token: string): void {
    const cookie = door.enter(request, token);
    if (cookie === undefined) {
      respondRefusal(response, "no_session");
      return;
    }
    response.writeHead(303, { ...commonHeaders, "set-cookie": cookie, location: "/" });
    response.end();
  }

  return {
    async handle(request, response) {
      const path = request.url?.split("?", 1)[0] ?? "";
      const route = routeOf(path);
      if (route === undefined) {
        respondRefusal(response, "not_found");
        return true;
      }
      const token = path === "/" ? readToken(request) : undefined;
      if (token !== undefined) {
        enter(request, response, token);
        return true;
      }
      const admitted = door.admit(request, { isDocument: path === "/", isActivity: path !== eventsPath });
      if ("refused" in admitted)
        respondRefusal(response, admitted.refused === "no_session" ? "no_session" : "not_own_page");
      else if (request.method !== route.method)
        respondRefusal(response.setHeader("allow", route.method), "other_method");
      else await route.answer(request, response, admitted.ended);
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
