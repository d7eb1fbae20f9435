/** The ingress on AWS: reads events of an HTTP API and sends messages to SQS. */

import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { escapeSqsText } from "@sekisho/runtime/engine/aws/sqs-message.ts";
import * as z from "zod/mini";
import type { Ingress, IngressQueue, IngressRequest } from "./ingress.ts";

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html, "2.0". */
const eventSchema = z.object({
  rawPath: z.string(),
  headers: z.optional(z.looseObject({})),
  body: z.optional(z.string()),
  isBase64Encoded: z.optional(z.boolean()),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
});

type HttpApiRequest = IngressRequest & { method: string; path: string };
type HttpApiResponse = { statusCode: number; headers: Record<string, string>; body: string };

/**
 * Returns undefined for any other event. API Gateway joins a repeated header's values by a comma. Neither a signature nor a timestamp
 * contains one, so such a request is refused as unsigned.
 */
function toIngressRequest(event: unknown): HttpApiRequest | undefined {
  const { data } = eventSchema.safeParse(event);
  if (data === undefined) return undefined;
  const { rawPath: path, headers = {}, body = "", isBase64Encoded = false, requestContext } = data;
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  return {
    method: requestContext.http.method,
    path,
    headers: Object.entries(headers).filter(isHeader),
    body: bytes,
  };
}

function isHeader(pair: [name: string, value: unknown]): pair is [name: string, value: string] {
  return typeof pair[1] === "string";
}

export type HttpApiHandler = (event: unknown) => Promise<HttpApiResponse>;

/** Answers 404 for anything but the API's only route. */
export function createHttpApiHandler({ ingress }: { ingress: Ingress }): HttpApiHandler {
  return async (event) => {
    const request = toIngressRequest(event);
    if (request?.path !== "/slack/events" || request.method !== "POST") {
      return { statusCode: 404, headers: { "cache-control": "no-store" }, body: "" };
    }
    const { status: statusCode, headers, body } = await ingress(request);
    return { statusCode, headers, body };
  };
}

const timeoutMs = 2000;

/** Rejects with an AwsCallError or an error of node:https. Sending a message twice is safe, because both have the same request id. */
export function createSendToQueue({
  queueUrl,
  ...aws
}: AwsDependencies & { queueUrl: string }): IngressQueue {
  const client = createJsonClient({ ...aws, service: "sqs", timeoutMs });
  return {
    async send({ body, group }) {
      const input = { QueueUrl: queueUrl, MessageBody: escapeSqsText(body), MessageGroupId: group };
      await client.call("SendMessage", input);
    },
  };
}
