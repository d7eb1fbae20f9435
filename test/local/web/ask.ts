/** Requests to a page's server with node:http, since `fetch` lets nobody lie about Host. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";

export type Answer = { status: number; headers: IncomingHttpHeaders; body: string };
export type Asked = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
};

export type Visitor = {
  cookie: string;
  ask(path: string, options?: Asked): Promise<Answer>;
  /** As the page's own script does it; headers may say otherwise. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
};

/** A browser that came without the printed address. */
export function stranger(url: string, cookie = ""): Visitor {
  const ask: Visitor["ask"] = (path, { headers, ...options } = {}) =>
    send(`${url}${path}`, {
      ...options,
      headers: { ...(cookie !== "" && { cookie }), ...headers },
    });
  return {
    cookie,
    ask,
    post: (path, body, headers) =>
      ask(path, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url, ...headers },
        body: JSON.stringify(body),
      }),
  };
}

/** A browser that opened the printed address, and sends the cookie that it got for it. */
export async function visit(address: string): Promise<Visitor> {
  return stranger(new URL(address).origin, cookieIn(await send(address, {})));
}

/** As the browser sends it back. */
export function cookieIn({ headers }: Answer): string {
  return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
}

function send(url: string, { method = "GET", headers = {}, body = "" }: Asked): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const clientRequest = httpRequest(url, { method, headers, agent: false }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
    );
    response.on("error", reject);
  });
  clientRequest.on("error", reject);
  clientRequest.end(body);
  return promise;
}
