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
