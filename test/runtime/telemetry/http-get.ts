/** A request of any method, with headers that `fetch` would not send as they are, the `Host` among them. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

export type HttpAnswer = {
  status: number | undefined;
  headers: IncomingMessage["headers"];
  body: string;
};

export async function httpGet(
  url: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<HttpAnswer> {
  const clientRequest = request(url, { method, headers, agent: false });
  clientRequest.end();
  const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}
