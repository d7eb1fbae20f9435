import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "../../lib/local/fake-slack/fake-slack.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";

const botToken = "xoxb-of-the-workspace";
const channel = workspace.channel.id;
const bytes = new TextEncoder().encode("a,b\n1,2\n");

let fakeSlack: FakeSlack;
let threadTs: string;

beforeEach(() => start());
afterEach(() => fakeSlack.close());

async function start(options: Partial<Parameters<typeof startFakeSlack>[0]> = {}): Promise<void> {
  await fakeSlack?.close();
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, ...options });
  threadTs = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hello" }).message.ts;
}

async function call(method: string, args: Record<string, unknown>) {
  const flat = Object.entries(args).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const headers = { authorization: `Bearer ${botToken}` };
  const body = new URLSearchParams(Object.fromEntries(flat));
  const response = await fetch(`${fakeSlack.apiUrl}${method}`, { method: "POST", headers, body });
  return (await response.json()) as { ok: boolean; error?: string; file_id: string; upload_url: string };
}

async function uploaded(content: Uint8Array = bytes) {
  const ticket = await call("files.getUploadURLExternal", { filename: "table.csv", length: bytes.byteLength });
  const sent = await fetch(ticket.upload_url, { method: "POST", body: new Uint8Array(content) });
  return { id: ticket.file_id, status: sent.status };
}

function complete(...ids: string[]) {
  const files = ids.map((id) => ({ id, title: "The table" }));
  return call("files.completeUploadExternal", { files, channel_id: channel, thread_ts: threadTs });
}

function shared() {
  return fakeSlack.thread({ channel, ts: threadTs }).flatMap(({ files }) => files ?? []);
}

describe("an upload", () => {
  it("is seen in the thread once its last step is done, as one message", async () => {
    const { id } = await uploaded();
    expect(shared()).toEqual([]);
    expect((await complete(id)).ok).toBe(true);
    expect(shared()).toMatchObject([{ id, name: "table.csv", title: "The table", mimetype: "text/csv", size: 8 }]);
    expect(Buffer.from(fakeSlack.file(id)?.bytes ?? []).toString()).toBe("a,b\n1,2\n");
  });

  it("can be completed once", async () => {
    const { id } = await uploaded();
    await complete(id);
    expect((await complete(id)).error).toBe("file_not_found");
    expect(shared().length).toBe(1);
  });

  it("is in the thread twice where this Slack completes it twice", async () => {
    await start({ completesUploadTwice: "share" });
    const { id } = await uploaded();
    await complete(id);
    await complete(id);
    expect(shared().map((file) => file.id)).toEqual([id, id]);
  });

  it("is refused without bytes, with other bytes than announced, and without a length", async () => {
    const { file_id: id } = await call("files.getUploadURLExternal", { filename: "a.txt", length: 3 });
    expect((await complete(id)).error).toBe("file_not_found");
    expect((await uploaded(new Uint8Array(3))).status).toBe(400);
    expect((await call("files.getUploadURLExternal", { filename: "a.txt", length: 0 })).error).toBe("missing_argument");
  });

  it("whose bytes arrive although nobody hears of it can be completed all the same", async () => {
    fakeSlack.inject({ method: "upload", type: "lost_answer" });
    const ticket = await call("files.getUploadURLExternal", { filename: "table.csv", length: bytes.byteLength });
    await expect(fetch(ticket.upload_url, { method: "POST", body: bytes })).rejects.toThrow();
    expect((await complete(ticket.file_id)).ok).toBe(true);
  });
});

describe("a person's file", () => {
  it("is told of with its address, which needs the token", async () => {
    const { message } = fakeSlack.ask({
      eventsUrl: fakeSlack.apiUrl,
      text: "read this",
      files: [{ name: "日本語.csv", mimetype: "text/csv", bytes }],
    });
    const thread = await call("conversations.replies", { channel, ts: message.ts });
    const [{ files }] = (thread as unknown as { messages: [{ files: { url_private_download: string }[] }] }).messages;
    const url = files[0]?.url_private_download ?? "";
    const get = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const good = await get(botToken);
    expect([good.headers.get("content-type"), await good.text()]).toEqual(["text/csv", "a,b\n1,2\n"]);
    const bad = await get("xoxb-another");
    expect([bad.status, bad.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await bad.text()).not.toContain("1,2");
    fakeSlack.inject({ method: "download", type: "status", status: 503 });
    expect((await get(botToken)).status).toBe(503);
  });
});
