/** Requests to the page's server with node:http, since `fetch` lets nobody lie about Host. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";

export type Answer = { status: number; headers: IncomingHttpHeaders; body: string };

export type Asked = { method?: string; headers?: Record<string, string>; body?: string };

export function ask(url: string, { method = "GET", headers = {}, body = "" }: Asked = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = httpRequest(url, { method, headers, agent: false }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    response.on("error", reject);
  });
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

/** As the page's own script does it; headers may say otherwise. */
export function post(base: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const own = { "content-type": "application/json", origin: base, ...headers };
  return ask(`${base}${path}`, { method: "POST", headers: own, body: JSON.stringify(body) });
}

export type Visitor = {
  ask(url: string, asked?: Asked): Promise<Answer>;
  post(base: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
};

/** A browser that opened the printed address, and sends the cookie that it got for it. */
export async function visit({ url, token }: { url: string; token: string }): Promise<Visitor> {
  const cookie = cookieIn(await ask(`${url}/operate/?token=${token}`));
  return {
    ask: (address, { headers, ...asked } = {}) => ask(address, { ...asked, headers: { cookie, ...headers } }),
    post: (base, path, body, headers) => post(base, path, body, { cookie, ...headers }),
  };
}

/** As the browser sends it back. */
export function cookieIn({ headers }: Answer): string {
  return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
}
