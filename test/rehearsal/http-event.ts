/** HTTP requests as events of payload version 2.0, for API Gateway and Function URLs alike, and the responses back. */
import type { Received } from "../doubles/web-server.ts";

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html */
export function eventOf({
  received: { request, target, body },
  routeKey,
  requestContext,
}: {
  received: Received;
  routeKey: string;
  requestContext: Record<string, unknown>;
}) {
  const [rawPath = "/", rawQueryString = ""] = target.split("?");
  const isText = /^(text\/|application\/(json|javascript|xml)|application\/[\w.-]+\+json)/.test(
    request.headers.get("content-type") ?? "",
  );
  const bytes = Buffer.from(body);
  return {
    version: "2.0",
    routeKey,
    rawPath,
    rawQueryString,
    headers: Object.fromEntries(request.headers),
    requestContext: {
      http: { method: request.method, path: rawPath, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "" },
      routeKey,
      stage: "$default",
      timeEpoch: Date.now(),
      ...requestContext,
    },
    ...(bytes.byteLength === 0 ? {} : { body: isText ? bytes.toString("utf8") : bytes.toString("base64") }),
    isBase64Encoded: bytes.byteLength > 0 && !isText,
  };
}

/** A function may also answer with a bare value, which is then the body. */
export function responseOf(payload: unknown): Response {
  if (typeof payload !== "object" || payload === null || !("statusCode" in payload)) return Response.json(payload);
  const { statusCode, headers, body, isBase64Encoded } = payload as {
    statusCode: number;
    headers?: Record<string, string>;
    body?: string;
    isBase64Encoded?: boolean;
  };
  const bytes = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  return new Response(bytes.byteLength === 0 ? null : bytes, { status: statusCode, headers: headers ?? {} });
}
