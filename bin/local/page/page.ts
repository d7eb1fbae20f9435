/** The local page: what a Slack user would see, and beside it the way of each task. Served by the Verification zone's own server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { readBody } from "../../../lambdas/verification/ingress/read-body.ts";
import type { Page } from "../../../lambdas/verification/ingress/server.ts";
import type { Journey } from "../journey/journey.ts";
import { recordAsked, watchStandIn } from "../journey/slack-steps.ts";
import type { SlackStandIn } from "../slack-stand-in.ts";
import { loadDocument } from "./document.ts";
import { createEventStream } from "./event-stream.ts";
import { refusalOf } from "./guard.ts";
import { commonHeaders, refuse, respondJson } from "./respond.ts";

/** `handle` is for `startVerificationServer`; `close` before the server's, so that open streams do not hold it up. */
export type LocalPage = { handle: Page; close(): void };

/** Slack's limit for a message, and then some for the JSON around it. */
const maxBodyBytes = 256 * 1024;

const messageSchema = z.object({
  text: z.string().trim().min(1).max(40_000),
  channel: z.string().optional(),
  thread_ts: z.string().optional(),
});

/**
 * `GET /`, `GET /local/events` (server-sent events) and `POST /local/messages`. The page makes the stand-in sign events, so
 * all three are refused with 403 to everyone but its own tab. Every other path is a 404. Events go to `/slack/events` of the server that serves the page.
 */
export function createPage({ standIn, journey }: { standIn: SlackStandIn; journey: Journey }): LocalPage {
  const document = loadDocument();
  const stream = createEventStream({ standIn, journey });
  watchStandIn({ standIn, journey });

  async function takeMessage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
      return refuse(request, response, "not_json");
    }
    const body = await readBody({ request, maxBytes: maxBodyBytes });
    if (body === undefined) return refuse(request, response, "too_large");
    const parsed = messageSchema.safeParse(parseJson(body)).data;
    if (parsed === undefined) return refuse(request, response, "unreadable");
    try {
      const { text, channel, thread_ts: threadTs } = parsed;
      const place = { ...(channel === undefined ? {} : { channel }), threadTs };
      const asked = standIn.ask({ eventsUrl: eventsUrlOf(request), text, ...place });
      recordAsked({ asked, journey });
      return respondJson(response, 202, { request_id: asked.requestId, ts: asked.message.ts });
    } catch {
      return refuse(request, response, "no_place");
    }
  }

  const routes: Record<
    string,
    { method: string; answer: (request: IncomingMessage, response: ServerResponse) => unknown }
  > = {
    "/": {
      method: "GET",
      answer(_request, response) {
        response.setHeader("content-security-policy", document.contentSecurityPolicy);
        response.writeHead(200, { ...commonHeaders, "content-type": "text/html; charset=utf-8" });
        response.end(document.html);
      },
    },
    "/local/events": { method: "GET", answer: (_request, response) => stream.open(response) },
    "/local/messages": { method: "POST", answer: takeMessage },
  };

  return {
    async handle(request, response) {
      const path = request.url?.split("?", 1)[0] ?? "";
      const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
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

function eventsUrlOf({ socket }: IncomingMessage): string {
  return `http://127.0.0.1:${socket.localPort}/slack/events`;
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
