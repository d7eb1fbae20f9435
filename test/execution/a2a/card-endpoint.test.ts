/** The card over a socket: what clients of each version get and read, and what caches need. */
import {
  AgentCardResolver,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import { isLegacyAgentCard, parseLegacyAgentCard } from "@a2a-js/sdk/compat/v0_3/client";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readCardSchema } from "../../../contracts/a2a/card.ts";
import { listInterfaces } from "../../../contracts/a2a/v03/card.ts";
import { createCard, createCardEndpoint } from "../../../lambdas/execution/a2a/cards.ts";
import { cardPaths } from "../../../lambdas/execution/http/routes.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { settingsOf, skill, url } from "./card-settings.ts";

const card = createCard({ ...settingsOf({ a2a: { tenant: "acme", skills: [skill] } }), extended: false });
const lastModifiedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const endpoint = createCardEndpoint({ card, lastModifiedAtMs });

let server: WebServer;

beforeAll(async () => {
  server = await startWebServer({
    async handle({ request }) {
      if (!cardPaths.includes(new URL(request.url).pathname)) return new Response(null, { status: 404 });
      const header = (name: string) => request.headers.get(name) ?? undefined;
      const { status, headers, body } = endpoint({ version: header("a2a-version"), header });
      return new Response(body || null, { status, headers });
    },
  });
});

afterAll(() => server.close());

/** `version` as a client would send it. */
async function get({ version, path = cardPaths[0], headers = {} }: GetOptions = {}) {
  return fetch(`${server.url}${path}`, { headers: { ...headers, ...(version && { "A2A-Version": version }) } });
}
type GetOptions = { version?: string; path?: string | undefined; headers?: Record<string, string> };

describe("who asks for the card", () => {
  it.each(["1.0", "1", "1.1", "2.0"])("with A2A-Version %s gets it as it is", async (version) => {
    expect(await (await get({ version })).json()).toEqual(card);
  });

  it.each([undefined, "0.3", "0.2", "unknown"])(
    "with A2A-Version %s gets what clients of 0.3 read",
    async (version) => {
      const body = await (await get(version === undefined ? {} : { version })).json();
      expect(body).toMatchObject({ url, protocolVersion: "0.3.0", preferredTransport: "JSONRPC", skills: [skill] });
      expect(body).toMatchObject({ securitySchemes: { bearer: { type: "http", scheme: "Bearer" } } });
      expect(body).toMatchObject({ supportedInterfaces: card.supportedInterfaces });
    },
  );

  it("finds the same at the address of old clients", async () => {
    expect(cardPaths).toContain("/.well-known/agent.json");
    const [today, old] = await Promise.all(cardPaths.map(async (path) => (await get({ path })).text()));
    expect(old).toBe(today);
  });
});

describe("the official SDK", () => {
  it.each([
    ["of 1.0", AgentCardResolver.default],
    ["with its compatibility switched on", new DefaultAgentCardResolver({ legacyCompat: { enabled: true } })],
  ])("%s reads the card and takes the interface of 1.0 with its tenant", async (_name, cardResolver) => {
    const sent: { version: string | null; body: { method?: string; params?: { tenant?: string } } }[] = [];
    const fetchImpl: typeof fetch = async (_input, init) => {
      const body = JSON.parse(String(init?.body));
      sent.push({ version: new Headers(init?.headers).get("a2a-version"), body });
      return Response.json({ jsonrpc: "2.0", id: body.id, result: { id: "t", status: {} } });
    };
    const transports = [new JsonRpcTransportFactory({ fetchImpl })];
    const client = await new ClientFactory({ transports, cardResolver }).createFromUrl(server.url);
    await client.getTask({ tenant: "", id: "t" });
    expect(sent).toMatchObject([{ version: "1.0", body: { method: "GetTask", params: { tenant: "acme" } } }]);
  });

  it("of 0.3 reads what comes without A2A-Version: one address, JSON-RPC, a bearer token", async () => {
    const body = await (await get()).json();
    const read = parseLegacyAgentCard(body);
    expect(read.supportedInterfaces).toMatchObject([{ url, protocolBinding: "JSONRPC", protocolVersion: "0.3.0" }]);
    expect(Object.keys(read.securitySchemes)).toEqual(["bearer"]);
    expect(read.skills).toMatchObject([skill]);
  });

  it("takes what comes without A2A-Version for a card of 1.0, too, since it lists interfaces", async () => {
    const body = await (await get()).json();
    expect(isLegacyAgentCard(body)).toBe(false);
    expect(listInterfaces(readCardSchema.parse(body)).map(({ protocolVersion }) => protocolVersion)).toEqual(
      expect.arrayContaining(["1.0", "0.3"]),
    );
  });
});

describe("a cache", () => {
  it("is told how long, of what kind and since when", async () => {
    const { status, headers } = await get({ version: "1.0" });
    expect([status, headers.get("content-type"), headers.get("vary")]).toEqual([
      200,
      "application/json",
      "A2A-Version",
    ]);
    expect(headers.get("cache-control")).toMatch(/^public, max-age=\d+$/);
    expect(headers.get("last-modified")).toBe("Fri, 02 Jan 2026 03:04:05 GMT");
    expect(headers.get("etag")).toMatch(/^"[\w-]{43}"$/);
  });

  it("has another entity tag for each form, and the same one on another instance", async () => {
    const [first, old] = await Promise.all([get({ version: "1.0" }), get()]);
    expect(old.headers.get("etag")).not.toBe(first.headers.get("etag"));
    const other = createCardEndpoint({ card: structuredClone(card), lastModifiedAtMs: lastModifiedAtMs + 5000 });
    expect(other({ version: "1.0", header: () => undefined }).headers.etag).toBe(first.headers.get("etag"));
  });

  it.each([
    ["the entity tag", (etag: string) => etag],
    ["the entity tag, weakened on the way", (etag: string) => `W/${etag}`],
    ["the entity tag among others", (etag: string) => `"a", ${etag} , W/"b"`],
    ["any", () => "*"],
  ])("that has %s is told that nothing changed", async (_name, conditionOf) => {
    const { headers } = await get();
    const response = await get({ headers: { "If-None-Match": conditionOf(headers.get("etag") ?? "") } });
    expect([response.status, await response.text()]).toEqual([304, ""]);
    for (const name of ["etag", "cache-control", "vary", "last-modified"]) {
      expect([name, response.headers.get(name)]).toEqual([name, headers.get(name)]);
    }
  });

  it.each(["Fri, 02 Jan 2026 03:04:05 GMT", "Sat, 03 Jan 2026 00:00:00 GMT"])(
    "that has a card of %s is told that nothing changed",
    async (since) => {
      expect((await get({ headers: { "If-Modified-Since": since } })).status).toBe(304);
    },
  );

  it.each([
    ["another entity tag", { "If-None-Match": '"other"' }],
    ["an entity tag that cannot be read", { "If-None-Match": "other" }],
    ["an older card", { "If-Modified-Since": "Fri, 02 Jan 2026 03:04:04 GMT" }],
    ["a date that cannot be read", { "If-Modified-Since": "yesterday" }],
    [
      "another entity tag, whatever its date",
      { "If-None-Match": '"x"', "If-Modified-Since": "Sat, 03 Jan 2026 00:00:00 GMT" },
    ],
  ])("that has %s gets the card", async (_name, headers) => {
    const response = await get({ version: "1.0", headers });
    expect([response.status, await response.json()]).toEqual([200, card]);
  });
});
