/** The event of a Lambda Function URL (payload 2.0) as an exchange, and the answer as the event's response; pure. */
import * as z from "zod";
import { SekishoError } from "../../contracts/errors.ts";
import type { Exchange, ExchangeResponse } from "./host/exchange.ts";
import { queryParameter } from "./host/query.ts";

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
    http: z.object({ method: z.string() }),
    authorizer: z.object({
      iam: z.object({ userArn: z.string(), accountId: z.string().regex(/^\d{12}$/) }),
    }),
  }),
});

/** Undefined where AWS does not say who calls: such an event came past the URL's IAM check. */
export function exchangeOf(event: unknown): Exchange | undefined {
  const parsed = eventSchema.safeParse(event);
  if (!parsed.success) return undefined;
  const { rawPath, rawQueryString: search, headers, body = "", isBase64Encoded, requestContext } = parsed.data;
  const platformPrincipal = principalOf(requestContext.authorizer.iam);
  if (platformPrincipal === undefined) return undefined;
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  return {
    method: requestContext.http.method,
    path: rawPath,
    query: (name) => queryParameter({ search, name }),
    header: (name) => headers[name],
    platformPrincipal,
    async readBody({ maxBytes }) {
      if (bytes.byteLength > maxBytes) throw new SekishoError("payload_too_large");
      return bytes;
    },
    canStream: false,
    // AWS does not say when a client goes away.
    signal: new AbortController().signal,
  };
}

/** An answer goes out in one piece, whatever it came in. */
export async function toFunctionUrlResponse({ status, headers, body }: ExchangeResponse): Promise<FunctionUrlResponse> {
  let whole = "";
  for await (const piece of typeof body === "string" ? [body] : body) whole += piece;
  return { statusCode: status, headers, body: whole, isBase64Encoded: false };
}

/**
 * Who calls, the same for all sessions of a role: the name of an assumed role's session changes by itself, and a repeated
 * request must find its task. Undefined for what is no caller's ARN of that account.
 */
function principalOf({ userArn, accountId }: { userArn: string; accountId: string }): string | undefined {
  const [, account, caller] = /^arn:aws[a-z-]*:(?:iam|sts)::(\d{12}):([^\s]+)$/.exec(userArn) ?? [];
  if (caller === undefined || account !== accountId) return undefined;
  const [, role] = /^assumed-role\/([^/]+)\/[^/]+$/.exec(caller) ?? [];
  return `${account}:${role === undefined ? caller : `role/${role}`}`;
}
