/** Serves Slack's events from an HTTP API: `POST /slack/events`, and nothing else. */
import { type HttpApiResponse, requestOf, responseOf } from "./http-api-event.ts";
import type { Ingress } from "./ingress.ts";

export type HttpApiHandler = (event: unknown) => Promise<HttpApiResponse>;

/** What comes another way than the API's one route is answered with 404. */
export function createHttpApiHandler({ ingress }: { ingress: Ingress }): HttpApiHandler {
  return async (event) => {
    const request = requestOf(event);
    if (request?.path !== "/slack/events" || request.method !== "POST") {
      return { statusCode: 404, headers: { "cache-control": "no-store" }, body: "" };
    }
    return responseOf(await ingress(request));
  };
}
