import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { startVerificationServer, type VerificationServer } from "../../lambdas/verification/ingress/server.ts";
import { type FakeSlack, startFakeSlack } from "../../lib/local/fake-slack/fake-slack.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import { createPage, type LocalPage } from "../../lib/local/page/page.ts";
import { createStepRecorder, type StepRecorder } from "../../lib/local/recorder/step-recorder.ts";
import { createDoor } from "../../lib/local/web/door.ts";
import { bytesIn } from "../verification/ingress/bytes-in.ts";

const botToken = "xoxb-fake-slack";
const channel = workspace.channel.id;
const requestId = "0c4d6d3e-8d4f-5a55-9d6c-0a6c2b6c7f11";

let fakeSlack: FakeSlack;
let stepRecorder: StepRecorder;
let page: LocalPage;
let server: VerificationServer;
let cookie: string;
let requests: { type: string; body: string }[];

beforeEach(async () => {
  requests = [];
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken });
  stepRecorder = createStepRecorder();
  const door = createDoor({ token: "a-token-of-this-page" });
  page = createPage({ fakeSlack, stepRecorder, door });
  server = await startVerificationServer({
    port: 0,
    page: page.handle,
    async ingress({ headers, ...rest }) {
      const type = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
      requests.push({ type, body: Buffer.from(await bytesIn({ headers, ...rest })).toString() });
      return { status: 200, headers: {}, body: "" };
    },
  });
});
beforeEach(async () => {
  const entered = await fetch(`${server.url}/?token=a-token-of-this-page`, { redirect: "manual" });
  cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
});
afterEach(async () => {
  page.close();
  await server.close();
  await fakeSlack.close();
});

function send(path: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url, cookie, ...headers },
    body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body),
  });
}

async function done<T>(sent: Promise<Response>): Promise<T> {
  const response = await sent;
  expect(response.status).toBe(202);
  return (await response.json()) as T;
}

function attach(name: string, type: string, bytes: Uint8Array) {
  const query = new URLSearchParams({ name, type });
  return send(`/local/files?${query}`, bytes, { "content-type": "application/octet-stream" });
}

async function call(method: string, args: Record<string, string>) {
  const headers = { authorization: `Bearer ${botToken}` };
  const response = await fetch(`${fakeSlack.apiUrl}${method}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(args),
  });
  return (await response.json()) as { ok: boolean; ts: string };
}

/** Resolves when the ingress has got so many requests; the test's own time-out is the bound. */
async function received(count: number) {
  while (requests.length < count) await new Promise((r) => setTimeout(r, 10));
  return requests;
}

describe("on the page a person", () => {
  it("brings files along, and gets them back", async () => {
    const bytes = new TextEncoder().encode("a,b\n");
    const { id } = await done<{ id: string }>(attach("表.csv", "text/csv", bytes));
    await done(send("/local/messages", { text: "", file_ids: [id] }));
    const [event] = await received(1);
    expect(JSON.parse(event?.body ?? "").event.files).toMatchObject([
      { id, name: "表.csv", mimetype: "text/csv", size: 4 },
    ]);
    const saved = await fetch(`${server.url}/local/files/${id}`, { headers: { cookie } });
    expect(await saved.text()).toBe("a,b\n");
    expect(saved.headers.get("content-disposition")).toMatch(/^attachment; filename\*=UTF-8''%E8%A1%A8\.csv$/);
  });

  it("sees images and saves everything else, so that a file never becomes a page of this server", async () => {
    const typeOf = async (type: string) => {
      const { id } = await done<{ id: string }>(attach("x", type, new Uint8Array([60])));
      const { headers } = await fetch(`${server.url}/local/files/${id}`, { headers: { cookie } });
      expect(headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
      return [headers.get("content-type"), headers.get("content-disposition")?.split(";")[0]];
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
    expect(request?.type).toBe("application/x-www-form-urlencoded");
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toMatchObject({
      command: "/sekisho",
      text: "What is it?",
      channel_id: channel,
    });
    expect(fakeSlack.messages()).toEqual([]);
    expect(stepRecorder.steps()[0]).toMatchObject({ requestId: request_id, title: "Slack sends the command /sekisho" });
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
    const titles = stepRecorder.steps().flatMap((step) => (step.requestId === requestId ? step.title : []));
    expect(titles).toEqual(expect.arrayContaining(["chat.postMessage", "Slack sends a pressed button"]));
    const refused = await send("/local/clicks", { channel, ts, action_id: "a1" });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("no such button")]);
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
      send("/local/files?name=a", new Uint8Array(1)),
      send("/local/messages", { text: "", file_ids: [] }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 415, 400]);
    expect((await fetch(`${server.url}/local/files/F0`, { headers: { cookie } })).status).toBe(404);
  });
});
