/** Converts the event of a Lambda Function URL (payload 2.0) to an exchange, and an answer to the event's response. */
import * as z from "zod";
import type { Exchange, ExchangeResponse } from "../exchange.ts";

export type FunctionUrlResponse = {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded: false;
};

/** https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html, section "Request payload format". */
const eventSchema = z.object({
  rawPath: z.string(),
  rawQueryString: z.string().default(""),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  isBase64Encoded: z.boolean().default(false),
  requestContext: z.object({
    http: z.object({ method: z.string(), sourceIp: z.string().optional() }),
    authorizer: z.object({
      iam: z.object({ userArn: z.string(), accountId: z.string().regex(/^\d{12}$/) }),
    }),
  }),
});

/** Undefined if AWS does not say who calls, which means that the event bypassed the URL's IAM check. */
export function toExchange(event: unknown): Exchange | undefined {
  const parsedEvent = eventSchema.safeParse(event);
  if (!parsedEvent.success) return undefined;
  const {
    rawPath,
    rawQueryString: search,
    headers,
    body = "",
    isBase64Encoded,
    requestContext,
  } = parsedEvent.data;
  const platformPrincipal = readPrincipal(requestContext.authorizer.iam);
  if (platformPrincipal === undefined) return undefined;
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  return {
    method: requestContext.http.method,
    path: rawPath,
    query: (name) => readQueryParameter({ search, name }),
    header: (name) => headers[name],
    platformPrincipal,
    sourceAddress: requestContext.http.sourceIp,
    async readBody({ maxBytes }) {
      return bytes.byteLength > maxBytes ? "too_large" : bytes;
    },
    canStream: false,
    // AWS does not report that a client has disconnected.
    openSignal: () => new AbortController().signal,
  };
}

/** Joins the pieces of an answer, because a Function URL returns one body. */
export async function toFunctionUrlResponse({
  status,
  headers,
  body,
}: ExchangeResponse): Promise<FunctionUrlResponse> {
  let text = "";
  for await (const piece of typeof body === "string" ? [body] : body) text += piece;
  return { statusCode: status, headers, body: text, isBase64Encoded: false };
}

/**
 * The principal is the same for all sessions of a role, because session names change and a repeated request must find its task. Undefined
 * for anything but an ARN of that account.
 */
function readPrincipal({
  userArn,
  accountId,
}: {
  userArn: string;
  accountId: string;
}): string | undefined {
  const [, account, caller] = /^arn:aws[a-z-]*:(?:iam|sts)::(\d{12}):([^\s]+)$/.exec(userArn) ?? [];
  if (caller === undefined || account !== accountId) return undefined;
  const [, role] = /^assumed-role\/([^/]+)\/[^/]+$/.exec(caller) ?? [];
  return `${account}:${role === undefined ? caller : `role/${role}`}`;
}

/** The principal of a role, as in `toExchange`. The path is left out, because a role's name is unique in its account. */
export function toRolePrincipal(roleArn: string): string {
  const [, account = "", name = ""] =
    /^arn:aws[a-z-]*:iam::(\d{12}):role\/(?:[^\s]*\/)?([^/\s]+)$/.exec(roleArn) ?? [];
  if (name === "") throw new Error(`${roleArn} is not the ARN of a role.`);
  return `${account}:role/${name}`;
}

/** Reads the first parameter of that name, in any letter case, from `search` (with or without its question mark). */
export function readQueryParameter({
  search,
  name,
}: {
  search: string;
  name: string;
}): string | undefined {
  if (search === "") return undefined;
  const lowerCaseName = name.toLowerCase();
  for (const [key, value] of new URLSearchParams(search))
    if (key.toLowerCase() === lowerCaseName) return value;
  return undefined;
}
