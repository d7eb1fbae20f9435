/** An event of an HTTP API (payload 2.0, as a Function URL's) as a request of the ingress, and its answer as the event's response. */
import * as z from "zod/mini";
import type { HeaderPairs } from "./authenticate.ts";
import type { Ingress, IngressRequest } from "./ingress.ts";

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html, "2.0". */
const eventSchema = z.object({
  rawPath: z.string(),
  headers: z.optional(z.record(z.string(), z.string())),
  body: z.optional(z.string()),
  isBase64Encoded: z.optional(z.boolean()),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
});

export type HttpApiRequest = IngressRequest & { method: string; path: string };
export type HttpApiResponse = { statusCode: number; headers: Record<string, string>; body: string };

/**
 * Undefined for what is no such event. A header that was sent twice arrives as one, its values joined by a comma: neither a
 * signature nor a timestamp has one in it, so such a request is refused as unsigned.
 */
function requestOf(event: unknown): HttpApiRequest | undefined {
  const { data } = eventSchema.safeParse(event);
  if (data === undefined) return undefined;
  const { rawPath: path, headers = {}, body = "", isBase64Encoded = false, requestContext } = data;
  const pairs: HeaderPairs = Object.entries(headers);
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  return { method: requestContext.http.method, path, headers: pairs, body: bytes };
}

// Serves Slack's events from an HTTP API: `POST /slack/events`, and nothing else.

export type HttpApiHandler = (event: unknown) => Promise<HttpApiResponse>;

/** What comes another way than the API's one route is answered with 404. */
export function createHttpApiHandler({ ingress }: { ingress: Ingress }): HttpApiHandler {
  return async (event) => {
    const request = requestOf(event);
    if (request?.path !== "/slack/events" || request.method !== "POST") {
      return { statusCode: 404, headers: { "cache-control": "no-store" }, body: "" };
    }
    const { status: statusCode, headers, body } = await ingress(request);
    return { statusCode, headers, body };
  };
}
