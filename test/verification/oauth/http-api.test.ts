import { describe, expect, it } from "@jest/globals";
import { createOauthHttpApi } from "../../../lambdas/verification/handlers/install-flow-handler.ts";

const event = {
  version: "2.0",
  rawPath: "/slack/oauth_redirect",
  rawQueryString: "code=a%2Bb&state=c.d.e",
  cookies: ["first=1", "__Host-sekisho-install=abc"],
  headers: { host: "example.com", "accept-language": "ja", authorization: "Bearer of somebody" },
  requestContext: { http: { method: "GET" } },
};

function seeing() {
  const requests: Request[] = [];
  const handler = createOauthHttpApi({
    oauth: async (request) => {
      requests.push(request);
      const headers = new Headers({ location: "https://slack.com/", "content-type": "text/html" });
      headers.append("set-cookie", "a=1; Path=/");
      headers.append("set-cookie", "b=2; Path=/");
      return new Response("漢字", { status: 302, headers });
    },
  });
  return { requests, handler };
}

describe("the flow behind an HTTP API", () => {
  it("sees the path, the query, the cookies and the language, and nothing else", async () => {
    const { requests, handler } = seeing();
    await handler(event);
    const [request] = requests;
    const url = new URL(request?.url ?? "");
    expect([url.pathname, url.searchParams.get("code"), url.searchParams.get("state")]).toEqual([
      "/slack/oauth_redirect",
      "a+b",
      "c.d.e",
    ]);
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      cookie: "first=1; __Host-sekisho-install=abc",
      "accept-language": "ja",
    });
  });

  it("gives cookies apart from the other headers", async () => {
    expect(await seeing().handler(event)).toEqual({
      statusCode: 302,
      headers: { location: "https://slack.com/", "content-type": "text/html" },
      cookies: ["a=1; Path=/", "b=2; Path=/"],
      body: "漢字",
    });
  });

  it.each([
    ["nothing", undefined],
    ["another event", { Records: [] }],
    ["an event without a method", { ...event, requestContext: {} }],
    ["a method that no request can have", { ...event, requestContext: { http: { method: "CON NECT" } } }],
  ])("answers %s with 400", async (_what, other) => {
    const { requests, handler } = seeing();
    expect((await handler(other)).statusCode).toBe(400);
    expect(requests).toEqual([]);
  });

  it("bears a request without query, cookies and headers", async () => {
    const { requests, handler } = seeing();
    await handler({ rawPath: "/slack/install", requestContext: event.requestContext });
    expect(requests[0]?.url).toBe("http://localhost/slack/install");
  });
});
