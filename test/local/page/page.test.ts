import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { type Answer, type Visitor, visit } from "../web/ask.ts";
import { botToken, serveLocalPage } from "./serve-local-page.ts";

let site: Awaited<ReturnType<typeof serveLocalPage>>;
let visitor: Visitor;

beforeEach(async () => {
  site = await serveLocalPage();
  visitor = await visit(site.address);
});

afterEach(() => site.close());
const sendMessage = (body: unknown) => visitor.post("/local/messages", body);

describe("the local page", () => {
  it("serves a document whose policy allows only files of this server", async () => {
    const { url } = site;
    const { status, headers, body } = await visitor.ask("/");
    expect(status).toBe(200);
    const policy = String(headers["content-security-policy"]);
    const code = `${url}/web/`;
    expect(policy).toContain(
      `default-src 'none'; script-src ${code}; style-src ${code}; img-src data: ${url}/local/files/`,
    );
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(body).not.toMatch(/<style|style=|<script[^>]*>[^<]|\son\w+=/);
    const loaded = [...body.matchAll(/(?:src|href)="(?!data:)([^"]*)/g)].map(
      ([, path = ""]) => path,
    );
    expect(loaded).toEqual(["/web/app.css", "/web/app.js"]);
  });

  it("serves the web app, and no source of it", async () => {
    const [script, style] = await Promise.all(
      ["/web/app.js", "/web/app.css"].map((path) => visitor.ask(path)),
    );
    expect(script?.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(style?.headers["content-type"]).toBe("text/css; charset=utf-8");
    for (const path of ["/web/client/app.tsx", "/web/door.ts", "/local/client/client.js"])
      expect((await visitor.ask(path)).status).toBe(404);
  });

  it("streams the existing messages, and then new ones", async () => {
    const { url, fakeSlack } = site;
    fakeSlack.ask({ eventsUrl: `${url}/slack/events`, text: "before" });
    const response = await fetch(`${url}/local/events`, { headers: { cookie: visitor.cookie } });
    const reader = (response.body ?? new ReadableStream())
      .pipeThrough(new TextDecoderStream())
      .getReader();
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

  it("leaves the server's own paths unchanged", async () => {
    expect((await visitor.ask("/healthz")).status).toBe(200);
    expect((await visitor.ask("/slack/events")).headers.allow).toBe("POST");
    expect((await visitor.ask("/nothing")).status).toBe(404);
  });

  it("reports an error in one line of plain text", async () => {
    const answers = await Promise.all([
      visitor.ask("/local/nothing"),
      visitor.ask("/local/messages"),
      visitor.post("/", {}),
      visitor.ask("/local/messages", { method: "POST", body: "{}" }),
      visitor.post("/local/messages", {}, { "content-type": "text/plain" }),
      sendMessage({ text: "" }),
      sendMessage({ text: "hi", thread_ts: "1.000001" }),
      sendMessage({ text: "x".repeat(300_000) }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 405, 405, 403, 415, 400, 400, 413]);
    for (const { headers, body } of answers) {
      expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
      expect(body).toMatch(/^[^\n]+\.\n$/);
    }
    expect(answers[1]?.headers.allow).toBe("POST");
  });

  it.each([
    ["a message without a text", {}],
    ["an empty text", { text: "  " }],
    ["a text above Slack's limit", { text: "x".repeat(40_001) }],
    ["a channel that does not exist", { text: "hi", channel: "CNOWHERE" }],
    ["a thread that does not exist", { text: "hi", thread_ts: "1.000001" }],
    ["a body that is not an object", "{"],
  ])("refuses %s", async (_name, body) => {
    expect((await sendMessage(body)).status).toBe(400);
    expect(site.fakeSlack.messages()).toEqual([]);
  });

  it("refuses a body that is not JSON", async () => {
    const headers = { "content-type": "application/json", origin: site.url };
    expect(
      await visitor.ask("/local/messages", { method: "POST", headers, body: "{" }),
    ).toMatchObject({ status: 400 });
  });

  it("accepts a reply in a thread and a direct message", async () => {
    const { ts } = JSON.parse((await sendMessage({ text: "first" })).body);
    expect((await sendMessage({ text: "more", thread_ts: ts })).status).toBe(200);
    expect(site.fakeSlack.thread({ channel: workspace.channel.id, ts }).length).toBe(2);
    expect((await sendMessage({ text: "hi", channel: workspace.directMessages.id })).status).toBe(
      200,
    );
  });
});

const channel = workspace.channel.id;
const requestId = "0c4d6d3e-8d4f-5a55-9d6c-0a6c2b6c7f11";
const send = (path: string, body: unknown) => visitor.post(path, body);

async function done<T>(answer: Promise<Answer>): Promise<T> {
  const { status, body } = await answer;
  expect(status).toBe(200);
  return JSON.parse(body) as T;
}

function attach(name: string, type: string, bytes: Uint8Array) {
  const headers = { "content-type": "application/octet-stream", origin: site.url };
  const query = new URLSearchParams({ name, type });
  return visitor.ask(`/local/files?${query}`, { method: "POST", headers, body: bytes });
}

async function call(method: string, args: Record<string, string>) {
  const headers = { authorization: `Bearer ${botToken}` };
  const response = await fetch(`${site.fakeSlack.apiUrl}${method}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(args),
  });
  return (await response.json()) as { ok: boolean; ts: string };
}

/** Resolves when the ingress has got so many requests; the test's own time-out is the bound. */
async function requests(count: number) {
  while (site.requests.length < count) await new Promise((r) => setTimeout(r, 10));
  return site.requests;
}

/** The ingress's answer is the last step that a message makes by itself. */
async function answered(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  site.stepRecorder.onStep(({ title }) => title.startsWith("ingress responded") && resolve());
  await promise;
}

describe("the conversation on the page", () => {
  it("sends a mention as a signed event, which begins the timeline", async () => {
    const taken = answered();
    const sending = await done<{ request_id: string }>(
      send("/local/messages", { text: "What is a sekisho?" }),
    );
    await taken;
    const [event] = await requests(1);
    expect(event?.headers.map(([name]) => name.toLowerCase())).toContain("x-slack-signature");
    expect(JSON.parse(event?.body ?? "").event).toMatchObject({
      type: "app_mention",
      text: `<@${workspace.botUser}> What is a sekisho?`,
    });
    expect(site.stepRecorder.steps().map((step) => [step.requestId, step.kind])).toEqual([
      [sending.request_id, "event"],
      [sending.request_id, "event"],
    ]);
  });

  it("posts an alert of another app, which starts no task", async () => {
    const alert = {
      title: "DiskFull",
      text: "*97 %*",
      color: "danger",
      fields: [{ title: "Host", value: "web-3" }],
    };
    const { ts } = await done<{ ts: string }>(send("/local/alerts", { channel, ...alert }));
    const [event] = await requests(1);
    expect(JSON.parse(event?.body ?? "").event).toMatchObject({
      ts,
      type: "message",
      text: "",
      attachments: [alert],
    });
    expect(site.stepRecorder.steps()).toEqual([]);
    const { length } = site.fakeSlack.messages();
    const refusal = [
      {},
      { ...alert, channel: workspace.directMessages.id },
      { channel, ...alert, color: "red" },
    ];
    for (const body of refusal) expect((await send("/local/alerts", body)).status).toBe(400);
    expect(site.fakeSlack.messages()).toHaveLength(length);
  });

  it("forwards a message with or without a comment", async () => {
    const { ts } = await done<{ ts: string }>(
      send("/local/messages", { text: "The backup failed" }),
    );
    const forward = { channel, ts };
    const direct = { channel: workspace.directMessages.id, forward };
    await done(send("/local/messages", { ...direct, text: "/what now?" }));
    await done(send("/local/messages", { ...direct, text: "" }));
    const events = (await requests(3)).map(({ body }) => JSON.parse(body).event);
    const forwarded = events.filter((event) => event.type === "message");
    expect(forwarded.map(({ text }) => text).sort()).toEqual(["", "/what now?"]);
    for (const { attachments } of forwarded)
      expect(attachments).toMatchObject([{ is_share: true, ts }]);
    const unknown = await send("/local/messages", {
      text: "",
      forward: { channel, ts: "1.000001" },
    });
    expect([unknown.status, unknown.body]).toEqual([
      400,
      expect.stringContaining("does not exist"),
    ]);
  });

  it("attaches a file and serves it as a download", async () => {
    const bytes = new TextEncoder().encode("a,b\n");
    const { id } = await done<{ id: string }>(attach("表.csv", "text/csv", bytes));
    await done(send("/local/messages", { text: "", file_ids: [id] }));
    const [event] = await requests(1);
    expect(JSON.parse(event?.body ?? "").event.files).toMatchObject([
      { id, name: "表.csv", mimetype: "text/csv", size: 4 },
    ]);
    const saved = await visitor.ask(`/local/files/${id}`);
    expect(saved.body).toBe("a,b\n");
    expect(saved.headers["content-disposition"]).toMatch(
      /^attachment; filename\*=UTF-8''%E8%A1%A8\.csv$/,
    );
  });

  it("shows images and downloads everything else, so that a file never becomes a page", async () => {
    const typeOf = async (type: string) => {
      const { id } = await done<{ id: string }>(attach("x", type, new Uint8Array([60])));
      const { headers } = await visitor.ask(`/local/files/${id}`);
      expect(headers["content-security-policy"]).toBe("default-src 'none'; sandbox");
      return [headers["content-type"], headers["content-disposition"]?.split(";")[0]];
    };
    expect(await typeOf("image/png")).toEqual(["image/png", "inline"]);
    for (const type of ["text/html", "image/svg+xml", "text/javascript", ""]) {
      expect(await typeOf(type)).toEqual(["application/octet-stream", "attachment"]);
    }
  });

  it("replies in a thread with or without a mention", async () => {
    const { ts } = await done<{ ts: string }>(send("/local/messages", { text: "first" }));
    await done(send("/local/messages", { text: "more", thread_ts: ts }));
    await done(send("/local/messages", { text: "@Sekisho again", thread_ts: ts, user: "UHANAKO" }));
    const events = (await requests(3)).map(({ body }) => JSON.parse(body).event);
    const byText = new Map(events.map((event) => [event.text, event]));
    expect(byText.get("more")).toMatchObject({ type: "message", thread_ts: ts });
    expect(byText.get(`<@${workspace.botUser}> again`)).toMatchObject({
      type: "app_mention",
      user: "UHANAKO",
    });
  });

  it("sends a typed slash command and posts nothing", async () => {
    const { request_id } = await done<{ request_id: string }>(
      send("/local/messages", { text: "/sekisho What is it?" }),
    );
    const [request] = await requests(1);
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toMatchObject({
      command: "/sekisho",
      text: "What is it?",
      channel_id: channel,
    });
    expect(site.fakeSlack.messages()).toEqual([]);
    expect(site.stepRecorder.steps()[0]).toMatchObject({
      requestId: request_id,
      title: "Slack sent the command /sekisho",
    });
  });

  it("clicks a button as a step of its task, and refuses an unknown button", async () => {
    const elements = [
      { type: "button", text: { type: "plain_text", text: "Yes" }, action_id: "a0", value: "v" },
    ];
    const { ts } = await call("chat.postMessage", {
      channel,
      text: "Shall I?",
      blocks: JSON.stringify([{ type: "actions", elements }]),
      metadata: JSON.stringify({
        event_type: "sekisho_message",
        event_payload: { request_id: requestId, part: 2001 },
      }),
    });
    await done(send("/local/clicks", { channel, ts, action_id: "a0", user: "UHANAKO" }));
    const [request] = await requests(1);
    const payload = JSON.parse(new URLSearchParams(request?.body).get("payload") ?? "");
    expect(payload).toMatchObject({
      type: "block_actions",
      user: { id: "UHANAKO" },
      actions: [{ action_id: "a0" }],
    });
    const titles = site.stepRecorder
      .steps()
      .flatMap((step) => (step.requestId === requestId ? step.title : []));
    expect(titles).toEqual(
      expect.arrayContaining(["chat.postMessage", "Slack sent a button click"]),
    );
    const refusal = await send("/local/clicks", { channel, ts, action_id: "a1" });
    expect([refusal.status, refusal.body]).toEqual([
      400,
      expect.stringContaining("no longer has this button"),
    ]);
  });

  it("opens the direct messages with the bot", async () => {
    await done(send("/local/direct-messages", {}));
    const [request] = await requests(1);
    expect(JSON.parse(request?.body ?? "").event).toMatchObject({
      type: "app_home_opened",
      ...{ tab: "messages", user: workspace.person },
    });
  });

  it("explains what is wrong with a file", async () => {
    const refusal = await Promise.all([
      attach("", "text/csv", new Uint8Array(1)),
      attach("empty.csv", "text/csv", new Uint8Array()),
      send("/local/files?name=a", {}),
      send("/local/messages", { text: "", file_ids: [] }),
    ]);
    expect(refusal.map(({ status }) => status)).toEqual([400, 400, 415, 400]);
    expect((await visitor.ask("/local/files/F0")).status).toBe(404);
  });
});
