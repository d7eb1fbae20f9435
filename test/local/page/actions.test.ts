import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { workspace } from "../../../lib/local/fake-slack/workspace.ts";
import { type Answer, type Visitor, visit } from "../web/ask.ts";
import { botToken, serveLocalPage } from "./serve-local-page.ts";

const channel = workspace.channel.id;
const requestId = "0c4d6d3e-8d4f-5a55-9d6c-0a6c2b6c7f11";

let served: Awaited<ReturnType<typeof serveLocalPage>>;
let visitor: Visitor;
beforeEach(async () => {
  served = await serveLocalPage();
  visitor = await visit(served.address);
});
afterEach(() => served.close());

const send = (path: string, body: unknown) => visitor.post(path, body);

async function done<T>(sent: Promise<Answer>): Promise<T> {
  const { status, body } = await sent;
  expect(status).toBe(200);
  return JSON.parse(body) as T;
}

function attach(name: string, type: string, bytes: Uint8Array) {
  const headers = { "content-type": "application/octet-stream", origin: served.url };
  const query = new URLSearchParams({ name, type });
  return visitor.ask(`/local/files?${query}`, { method: "POST", headers, body: bytes });
}

async function call(method: string, args: Record<string, string>) {
  const headers = { authorization: `Bearer ${botToken}` };
  const response = await fetch(`${served.fakeSlack.apiUrl}${method}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(args),
  });
  return (await response.json()) as { ok: boolean; ts: string };
}

/** Resolves when the ingress has got so many requests; the test's own time-out is the bound. */
async function received(count: number) {
  while (served.requests.length < count) await new Promise((r) => setTimeout(r, 10));
  return served.requests;
}

/** The ingress's answer is the last step that a message makes by itself. */
async function answered(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  served.stepRecorder.onStep(({ title }) => title.startsWith("The ingress answers") && resolve());
  await promise;
}

describe("on the page a person", () => {
  it("mentions the bot: a signed event, which is the first steps of the timeline", async () => {
    const taken = answered();
    const sent = await done<{ request_id: string }>(send("/local/messages", { text: "What is a sekisho?" }));
    await taken;
    const [event] = await received(1);
    expect(event?.headers.map(([name]) => name.toLowerCase())).toContain("x-slack-signature");
    expect(JSON.parse(event?.body ?? "").event).toMatchObject({
      type: "app_mention",
      text: `<@${workspace.botUser}> What is a sekisho?`,
    });
    expect(served.stepRecorder.steps().map((step) => [step.requestId, step.kind])).toEqual([
      [sent.request_id, "event"],
      [sent.request_id, "event"],
    ]);
  });

  it("brings files along, and gets them back", async () => {
    const bytes = new TextEncoder().encode("a,b\n");
    const { id } = await done<{ id: string }>(attach("表.csv", "text/csv", bytes));
    await done(send("/local/messages", { text: "", file_ids: [id] }));
    const [event] = await received(1);
    expect(JSON.parse(event?.body ?? "").event.files).toMatchObject([
      { id, name: "表.csv", mimetype: "text/csv", size: 4 },
    ]);
    const saved = await visitor.ask(`/local/files/${id}`);
    expect(saved.body).toBe("a,b\n");
    expect(saved.headers["content-disposition"]).toMatch(/^attachment; filename\*=UTF-8''%E8%A1%A8\.csv$/);
  });

  it("sees images and saves everything else, so that a file never becomes a page of this server", async () => {
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

  it("replies in a thread without a mention, or with one", async () => {
    const { ts } = await done<{ ts: string }>(send("/local/messages", { text: "first" }));
    await done(send("/local/messages", { text: "more", thread_ts: ts }));
    await done(send("/local/messages", { text: "@Sekisho again", thread_ts: ts, user: "UHANAKO" }));
    const events = (await received(3)).map(({ body }) => JSON.parse(body).event);
    const byText = new Map(events.map((event) => [event.text, event]));
    expect(byText.get("more")).toMatchObject({ type: "message", thread_ts: ts });
    expect(byText.get(`<@${workspace.botUser}> again`)).toMatchObject({ type: "app_mention", user: "UHANAKO" });
  });

  it("uses a slash command by typing it, which posts nothing", async () => {
    const { request_id } = await done<{ request_id: string }>(
      send("/local/messages", { text: "/sekisho What is it?" }),
    );
    const [request] = await received(1);
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toMatchObject({
      command: "/sekisho",
      text: "What is it?",
      channel_id: channel,
    });
    expect(served.fakeSlack.messages()).toEqual([]);
    expect(served.stepRecorder.steps()[0]).toMatchObject({
      requestId: request_id,
      title: "Slack sends the command /sekisho",
    });
  });

  it("presses a button, as a step of its task; one that is not there is refused", async () => {
    const elements = [{ type: "button", text: { type: "plain_text", text: "Yes" }, action_id: "a0", value: "v" }];
    const { ts } = await call("chat.postMessage", {
      channel,
      text: "Shall I?",
      blocks: JSON.stringify([{ type: "actions", elements }]),
      metadata: JSON.stringify({ event_type: "sekisho_message", event_payload: { request_id: requestId, part: 2001 } }),
    });
    await done(send("/local/clicks", { channel, ts, action_id: "a0", user: "UHANAKO" }));
    const [request] = await received(1);
    const payload = JSON.parse(new URLSearchParams(request?.body).get("payload") ?? "");
    expect(payload).toMatchObject({ type: "block_actions", user: { id: "UHANAKO" }, actions: [{ action_id: "a0" }] });
    const titles = served.stepRecorder.steps().flatMap((step) => (step.requestId === requestId ? step.title : []));
    expect(titles).toEqual(expect.arrayContaining(["chat.postMessage", "Slack sends a pressed button"]));
    const refused = await send("/local/clicks", { channel, ts, action_id: "a1" });
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining("no such button")]);
  });

  it("opens a conversation with the assistant", async () => {
    const { channel: opened, thread_ts } = await done<{ channel: string; thread_ts: string }>(
      send("/local/conversations", {}),
    );
    const [request] = await received(1);
    expect(JSON.parse(request?.body ?? "").event).toMatchObject({
      type: "assistant_thread_started",
      assistant_thread: { channel_id: opened, thread_ts, user_id: workspace.person },
    });
  });

  it("is told what is wrong with a file", async () => {
    const refused = await Promise.all([
      attach("", "text/csv", new Uint8Array(1)),
      attach("empty.csv", "text/csv", new Uint8Array()),
      send("/local/files?name=a", {}),
      send("/local/messages", { text: "", file_ids: [] }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 415, 400]);
    expect((await visitor.ask("/local/files/F0")).status).toBe(404);
  });
});
