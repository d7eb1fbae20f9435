import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { workspace } from "../../../lib/local/fake-slack/workspace.ts";
import { type Visitor, visit } from "../web/ask.ts";
import { serveLocalPage } from "./serve-local-page.ts";

let served: Awaited<ReturnType<typeof serveLocalPage>>;
let visitor: Visitor;
beforeEach(async () => {
  served = await serveLocalPage();
  visitor = await visit(served.address);
});
afterEach(() => served.close());

const send = (body: unknown) => visitor.post("/local/messages", body);

describe("the local page", () => {
  it("is a document and files of this server that let nothing else run", async () => {
    const { url } = served;
    const { status, headers, body } = await visitor.ask("/");
    expect(status).toBe(200);
    const policy = String(headers["content-security-policy"]);
    const code = `${url}/local/client/ ${url}/web/`;
    expect(policy).toContain(
      `default-src 'none'; script-src ${code}; style-src ${code}; img-src data: ${url}/local/files/`,
    );
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(body).not.toMatch(/<style|style=|<script[^>]*>[^<]|\son\w+=/);
    const loaded = [...body.matchAll(/(?:src|href)="(?!data:)([^"]*)/g)].map(([, path = ""]) => path);
    expect(loaded).toEqual(["/web/common.css", "/local/client/page.css", "/local/client/client.js", "/operate/"]);
  });

  it("puts text in as text: its scripts know no HTML, and come from this server alone", async () => {
    const queue = ["/local/client/client.js"];
    const seen = new Set(queue);
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      const { status, headers, body } = await visitor.ask(path);
      expect([path, status, headers["content-type"]]).toEqual([path, 200, "text/javascript; charset=utf-8"]);
      expect(body).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|srcdoc|https?:/);
      for (const [, imported = ""] of body.matchAll(/from "([^"]+)"/g)) {
        const { pathname } = new URL(imported, `${served.url}${path}`);
        if (!seen.has(pathname)) queue.push(pathname);
        seen.add(pathname);
      }
    }
    expect(seen.size).toBeGreaterThan(5);
    expect((await visitor.ask("/local/client/page.ts")).status).toBe(404);
    expect((await visitor.ask("/web/door.ts")).status).toBe(404);
  });

  it("streams what there is, then what comes", async () => {
    const { url, fakeSlack } = served;
    fakeSlack.ask({ eventsUrl: `${url}/slack/events`, text: "before" });
    const response = await fetch(`${url}/local/events`, { headers: { cookie: visitor.cookie } });
    const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (wanted: string) => {
      while (!text.includes(wanted)) {
        const { value, done } = await reader.read();
        if (done) throw new Error("The stream ended.");
        text += value;
      }
    };
    await until("before");
    fakeSlack.ask({ eventsUrl: `${url}/slack/events`, text: "after" });
    await until("after");
    expect(text.startsWith('data: {"type":"reset"')).toBe(true);
    await reader.cancel();
  });

  it("leaves what is the server's own alone", async () => {
    expect((await visitor.ask("/healthz")).status).toBe(200);
    expect((await visitor.ask("/slack/events")).headers.allow).toBe("POST");
    expect((await visitor.ask("/nothing")).status).toBe(404);
  });

  it("says what is wrong in one line of plain text", async () => {
    const answers = await Promise.all([
      visitor.ask("/local/nothing"),
      visitor.ask("/local/messages"),
      visitor.post("/", {}),
      visitor.ask("/local/messages", { method: "POST", body: "{}" }),
      visitor.post("/local/messages", {}, { "content-type": "text/plain" }),
      send({ text: "" }),
      send({ text: "hi", thread_ts: "1.000001" }),
      send({ text: "x".repeat(300_000) }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 405, 405, 403, 415, 400, 400, 413]);
    for (const { headers, body } of answers) {
      expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
      expect(body).toMatch(/^[^\n]+\.\n$/);
    }
    expect(answers[1]?.headers.allow).toBe("POST");
  });

  it.each([
    ["no text", {}],
    ["an empty text", { text: "  " }],
    ["a text that Slack would not take", { text: "x".repeat(40_001) }],
    ["a channel that does not exist", { text: "hi", channel: "CNOWHERE" }],
    ["a thread that does not exist", { text: "hi", thread_ts: "1.000001" }],
    ["something else than an object", "{"],
  ])("refuses %s", async (_name, body) => {
    expect((await send(body)).status).toBe(400);
    expect(served.fakeSlack.messages()).toEqual([]);
  });

  it("refuses what is no JSON", async () => {
    const headers = { "content-type": "application/json", origin: served.url };
    expect(await visitor.ask("/local/messages", { method: "POST", headers, body: "{" })).toMatchObject({ status: 400 });
  });

  it("answers in a thread, and in a direct message", async () => {
    const { ts } = JSON.parse((await send({ text: "first" })).body);
    expect((await send({ text: "more", thread_ts: ts })).status).toBe(200);
    expect(served.fakeSlack.thread({ channel: workspace.channel.id, ts }).length).toBe(2);
    expect((await send({ text: "hi", channel: workspace.directMessages.id })).status).toBe(200);
  });
});
