import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { appId, failure, requestId, type SlackClient, slackClient, text } from "./slack-client.ts";

/** Bounds what hangs: a busy machine takes its time for a hundred megabytes. */
jest.setTimeout(120_000);

const slack = slackClient({ pageSize: 1000 });
/** The same, with calls that have time for large pages. */
function client(): SlackClient {
  const opened = slack();
  const api: SlackClient["api"] = (options) => opened.api({ timeoutMs: 60_000, ...options });
  return { ...opened, api, post: (given = api(), part = 0) => opened.post(given, part) };
}
/** The longest text of a message that Slack takes; 120 KB in UTF-8. */
const longText = "関".repeat(40_000);

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function limits(): (string | undefined)[] {
  const seen: (string | undefined)[] = [];
  client().fakeSlack.onCall(({ method, args }) => {
    if (method.startsWith("conversations.")) seen.push(args.limit);
  });
  return seen;
}

/** A Slack whose pages of messages are always larger than what is read. */
async function hugePages(): Promise<{ apiUrl: string; calls: () => number }> {
  let calls = 0;
  const piece = Buffer.alloc(1024 * 1024, " ");
  const server = createServer((request, response) => {
    calls++;
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    for (let pieces = 0; pieces < 17; pieces++) response.write(piece);
    response.end(JSON.stringify({ ok: true, messages: [], ts: "1.000001" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`, calls: () => calls };
}

describe("messages whose page is larger than what is read", () => {
  it("are read in smaller pages, all of them, with the cursor of the larger ones", async () => {
    const { api, post, asked, fakeSlack, common, waits } = client();
    const first = await post(api(), 0);
    for (let posts = 0; posts < 220; posts++) {
      fakeSlack.postAsOtherBot({ channel: common.channel, threadTs: asked.ts, text: posts < 200 ? "short" : longText });
    }
    for (let posts = 0; posts < 160; posts++) {
      fakeSlack.postAsOtherBot({ channel: common.channel, threadTs: asked.ts, text: longText });
    }
    const last = await post(api(), 1);
    const seen = limits();
    const found = await api().replies({ ...common, threadTs: asked.ts, oldestTs: asked.ts, appId });
    expect(found.length).toBe(383);
    expect(found.flatMap(({ ts, key }) => (key === undefined ? [] : [ts]))).toEqual([first.ts, last.ts]);
    expect(seen).toEqual(["200", "200", "50", "50", "50", "50"]);
    expect(waits).toEqual([]);
  });

  it("of a channel too", async () => {
    const { api, fakeSlack, common, asked } = client();
    for (let posts = 0; posts < 150; posts++) fakeSlack.postAsOtherBot({ channel: common.channel, text: longText });
    const { ts } = await api().post({
      ...common,
      threadTs: undefined,
      content: { text },
      key: { requestId, part: 0 },
    });
    const seen = limits();
    const found = await api().posts({ ...common, oldestTs: asked.ts, appId });
    expect(found.length).toBe(152);
    expect(found.at(-1)).toMatchObject({ ts, key: { requestId, part: 0 } });
    expect(seen.slice(0, 2)).toEqual(["200", "50"]);
  });

  it("are refused where not even one can be read: what the record knows must do", async () => {
    const { apiUrl, calls } = await hugePages();
    const { api, common, asked, waits } = client();
    const huge = api({ apiUrl });
    const place = { ...common, oldestTs: asked.ts, appId };
    expect((await failure(huge.replies({ ...place, threadTs: asked.ts }))).kind).toBe("refused");
    expect(calls()).toBe(4);
    expect((await failure(huge.posts(place))).kind).toBe("refused");
    expect(waits).toEqual([]);
  });

  it("are refused where their pages never end", async () => {
    const { api, common, asked } = client();
    const server = createServer((request, response) => {
      request.resume();
      const page = { ok: true, messages: [], response_metadata: { next_cursor: "again" } };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
    const call = api({ apiUrl }).posts({ ...common, oldestTs: asked.ts, appId });
    expect((await failure(call)).kind).toBe("refused");
  });
});

describe("a post whose answer is larger than what is read", () => {
  it("may have been made, so it is not repeated", async () => {
    const { apiUrl, calls } = await hugePages();
    const { api, post } = client();
    expect(await failure(post(api({ apiUrl })))).toMatchObject({ kind: "ambiguous", tooLarge: true });
    expect(calls()).toBe(1);
  });
});
