/** One HTTP request with exactly the given headers, also repeated ones, over a connection of its own. */
import { request as httpRequest } from "node:http";
import type { IngressRequest } from "../../../lambdas/verification/ingress/ingress.ts";

export type Answer = { status: number; body: string };

export function send({
  url,
  method = "POST",
  headers = [],
  body = Buffer.alloc(0),
}: Partial<IngressRequest> & { url: string; method?: string }): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const flat = [...headers, ["Content-Length", String(body.byteLength)], ["Host", "127.0.0.1"]].flat();
  const sent = httpRequest(url, { method, headers: flat, agent: false }, async (response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of response) chunks.push(chunk);
    resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
  });
  sent.on("error", reject);
  sent.end(body);
  return promise;
}
