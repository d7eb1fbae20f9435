import { afterEach, describe, expect, it } from "@jest/globals";
import { createDownload } from "../../../lambdas/verification/files/attachments.ts";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import { connectionReset, type Received, startWebServer, type WebServer } from "../../doubles/web-server.ts";

const token = "xoxb-of-the-test";
const servers: WebServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** `seen` are the authorization headers of all requests. */
async function start(answer: (received: Received) => Response | Promise<Response>) {
  const seen: (string | null)[] = [];
  const server = await startWebServer({
    handle: async (received) => {
      seen.push(received.request.headers.get("authorization"));
      return answer(received);
    },
  });
  servers.push(server);
  return { url: server.url, seen };
}

function fetchFrom({
  url,
  apiUrl = url,
  ...options
}: {
  url: string;
  apiUrl?: string;
  maxBytes?: number;
  timeoutMs?: number;
}) {
  const { maxBytes = 1000, timeoutMs = 5000 } = options;
  const download = createDownload({ apiUrl, timeoutMs, now: () => 0 });
  return download({ url, token, maxBytes, signal: new AbortController().signal });
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } });
}

describe("a file of a message", () => {
  it("is fetched from Slack with the bot token", async () => {
    const { url, seen } = await start(() => new Response("bytes", { headers: { "content-type": "text/csv" } }));
    const got = await fetchFrom({ url });
    expect(got).toEqual({ bytes: Buffer.from("bytes"), contentType: "text/csv" });
    expect(seen).toEqual([`Bearer ${token}`]);
  });

  it("is not asked for anywhere else", async () => {
    const elsewhere = await start(() => new Response("bytes"));
    const refused = await fetchFrom({ url: elsewhere.url, apiUrl: "https://slack.com/api/" });
    expect(refused).toEqual({ refused: "not_to_be_had" });
    expect(await fetchFrom({ url: "no address", apiUrl: elsewhere.url })).toEqual({ refused: "not_to_be_had" });
    expect(elsewhere.seen).toEqual([]);
  });

  it("is followed to where Slack has moved it, with the token, but not for ever", async () => {
    const { url, seen } = await start(({ target }) =>
      target === "/moved" ? new Response("bytes") : redirect("/moved"),
    );
    expect(await fetchFrom({ url: `${url}/first`, apiUrl: url })).toMatchObject({ bytes: Buffer.from("bytes") });
    expect(seen).toEqual([`Bearer ${token}`, `Bearer ${token}`]);

    const circle = await start(() => redirect("/again"));
    expect(await fetchFrom({ url: circle.url })).toEqual({ refused: "not_to_be_had" });
    expect(circle.seen).toHaveLength(4);
  });

  it("is not followed to another host, which hears nothing of it", async () => {
    const elsewhere = await start(() => new Response("bytes"));
    const { url } = await start(() => redirect(`${elsewhere.url}/a`));
    expect(await fetchFrom({ url })).toEqual({ refused: "not_to_be_had" });
    expect(elsewhere.seen).toEqual([]);
  });

  it("is cut off where it is larger than allowed, however much Slack has to give", async () => {
    const chunk = new Uint8Array(64 * 1024);
    const mostBytes = 64 * 1024 * 1024;
    let sentBytes = 0;
    const canceled = Promise.withResolvers<void>();
    const endless = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk);
        sentBytes += chunk.byteLength;
        if (sentBytes >= mostBytes) controller.close();
      },
      cancel: () => canceled.resolve(),
    });
    const { url } = await start(() => new Response(endless));
    expect(await fetchFrom({ url, maxBytes: 100_000 })).toEqual({ refused: "too_large" });
    await canceled.promise;
    // What was under way in the buffers of both sides.
    expect(sentBytes).toBeLessThan(mostBytes / 2);
  });

  it("is refused by its announced length before it is read, and taken at exactly the limit", async () => {
    const of = (body: ReadableStream | string, length: number) =>
      start(() => new Response(body, { headers: { "content-length": `${length}` } }));
    const { url } = await of(new ReadableStream(), 1001);
    expect(await fetchFrom({ url })).toEqual({ refused: "too_large" });
    const fitting = await of("x".repeat(1000), 1000);
    expect(await fetchFrom({ url: fitting.url })).toMatchObject({ bytes: { byteLength: 1000 } });
  });

  it.each([301, 400, 401, 403, 404, 410])("is not to be had where Slack answers %d", async (status) => {
    const { url } = await start(() => new Response("no", { status }));
    expect(await fetchFrom({ url })).toEqual({ refused: "not_to_be_had" });
  });

  it.each([408, 500, 502, 503])("may be had another time where Slack answers %d", async (status) => {
    const { url } = await start(() => new Response("no", { status }));
    await expect(fetchFrom({ url })).rejects.toMatchObject({ name: "SlackError", kind: "unavailable" });
  });

  it("may be had after the time that Slack names", async () => {
    const { url } = await start(() => new Response("no", { status: 429, headers: { "retry-after": "7" } }));
    await expect(fetchFrom({ url })).rejects.toMatchObject({ kind: "rate_limited", retryAfterMs: 7000 });
  });

  it("may be had another time where the connection breaks, at once or half-way, or nothing comes", async () => {
    const broken = await start(() => Promise.reject(connectionReset));
    const half = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(10));
        setTimeout(() => controller.error(new Error("cut")), 20);
      },
    });
    const cut = await start(() => new Response(half));
    const silent = await start(() => new Promise(() => {}));
    for (const [{ url }, timeoutMs] of [
      [broken, 5000],
      [cut, 5000],
      [silent, 50],
    ] as const) {
      const failure: unknown = await fetchFrom({ url, timeoutMs }).catch((thrown: unknown) => thrown);
      expect(failure).toBeInstanceOf(SlackError);
      expect(failure).toMatchObject({ kind: "unavailable" });
      expect(JSON.stringify(failure)).not.toContain(token);
    }
  });
});
