/** The installation flow behind an HTTP API: its event (payload 2.0) as a web-standard request, and the answer back. */
import * as z from "zod";
import type { Oauth } from "./oauth.ts";

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html, "2.0". */
const eventSchema = z.object({
  rawPath: z.string(),
  rawQueryString: z.string().default(""),
  cookies: z.array(z.string()).default([]),
  headers: z.record(z.string(), z.string()).default({}),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
});

export type HttpApiAnswer = { statusCode: number; headers: Record<string, string>; cookies: string[]; body: string };
export type OauthHandler = (event: unknown) => Promise<HttpApiAnswer>;

export function createOauthHttpApi({ oauth }: { oauth: Oauth }): OauthHandler {
  return async (event) => {
    const request = requestOf(event);
    if (request === undefined)
      return { statusCode: 400, headers: { "cache-control": "no-store" }, cookies: [], body: "" };
    const response = await oauth(request);
    const cookies = response.headers.getSetCookie();
    const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "set-cookie"));
    return { statusCode: response.status, headers, cookies, body: await response.text() };
  };
}

/** Only what the flow looks at; the host's name is of no interest. */
function requestOf(event: unknown): Request | undefined {
  const { data } = eventSchema.safeParse(event);
  if (data === undefined) return undefined;
  const { rawPath, rawQueryString, cookies, headers, requestContext } = data;
  try {
    const url = new URL("http://localhost/");
    url.pathname = rawPath;
    url.search = rawQueryString;
    const language = headers["accept-language"];
    return new Request(url, {
      method: requestContext.http.method,
      headers: { cookie: cookies.join("; "), ...(language === undefined ? {} : { "accept-language": language }) },
    });
  } catch {
    return undefined;
  }
}
