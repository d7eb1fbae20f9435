/** The HTTP face of the host: which path does what. */
import type { Dialect } from "../../../contracts/dialects.ts";
import { cardPaths } from "./a2a/card-endpoint.ts";
import type { A2aEndpoint } from "./a2a/endpoint.ts";
import type { ServedCards } from "./a2a/late-cards.ts";
import { askedVersion } from "./a2a/version.ts";
import { createPost, type Face, type PostSettings } from "./answer-post.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";
import { empty, json } from "./json-response.ts";
import { createMetricsPage, type Exposition } from "./metrics-page.ts";
import { openRpc } from "./open-rpc.ts";

type Settings = PostSettings & {
  /** Without it the host is no A2A agent. */
  a2a: { endpoint: A2aEndpoint; card: ServedCards["endpoint"] } | undefined;
  /** Further paths of the zone contract, and how errors are written there. */
  dialects: Readonly<Record<string, Dialect>>;
  busy: () => boolean;
  exposition: Exposition;
};

/** Never rejects. `POST /invocations` always answers 200, because AgentCore replaces the body of any other status. */
export function createRoutes({
  a2a,
  dialects,
  busy,
  exposition,
  ...settings
}: Settings): (exchange: Exchange) => Promise<ExchangeResponse> {
  const post = createPost(settings);
  const a2aEndpoint = a2a?.endpoint;
  const faces = new Map<string, Face>([
    ...Object.entries(dialects).map(([path, dialect]): [string, Face] => [path, { zoneDialect: dialect }]),
    ["/", { zoneDialect: "zone", a2a: a2aEndpoint }],
    ["/invocations", { zoneDialect: "zone", a2a: a2aEndpoint }],
  ]);
  const pages = new Map<string, (exchange: Exchange) => ExchangeResponse | Promise<ExchangeResponse>>([
    ["/ping", () => json({ status: busy() ? "HealthyBusy" : "Healthy" })],
    ["/healthz", () => json({ status: "ok" })],
    ["/openrpc.json", () => json(openRpc())],
    ["/metrics", createMetricsPage({ ...settings, exposition })],
  ]);
  if (a2a !== undefined) {
    // Clients that join URLs add a slash.
    for (const path of ["/a2a", "/a2a/"]) faces.set(path, { a2a: a2a.endpoint });
    const card = (exchange: Exchange) => a2a.card({ version: askedVersion(exchange), header: exchange.header });
    for (const path of cardPaths) pages.set(path, card);
  }

  return async (exchange) => {
    const { method, path } = exchange;
    const face = faces.get(path);
    if (face !== undefined) {
      if (method !== "POST") return empty({ status: 405, allow: "POST" });
      const response = await post({ exchange, face });
      return path === "/invocations" ? { ...response, status: 200 } : response;
    }
    const page = pages.get(path);
    if (page === undefined) return empty({ status: 404 });
    // A response to HEAD has the headers of the one to GET; the server leaves its body out (RFC 9110, section 9.3.2).
    return method === "GET" || method === "HEAD" ? page(exchange) : empty({ status: 405, allow: "GET, HEAD" });
  };
}
