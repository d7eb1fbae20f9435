import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { botToken, type CalledSlack, channel, startCalledSlack } from "./web-api.ts";

const bytes = new TextEncoder().encode("a,b\n1,2\n");

let slack: CalledSlack;
beforeEach(async () => {
  slack = await startCalledSlack();
});
afterEach(() => slack.fakeSlack.close());

async function announce(file: object = { filename: "table.csv", length: bytes.byteLength }) {
  const { file_id, upload_url, error } = await slack.call("files.getUploadURLExternal", { ...file });
  return { id: String(file_id), url: String(upload_url), error };
}

async function uploaded(content: Uint8Array = bytes) {
  const { id, url } = await announce();
  const sent = await fetch(url, { method: "POST", body: new Uint8Array(content) });
  return { id, status: sent.status };
}

function complete(...ids: string[]) {
  const files = ids.map((id) => ({ id, title: "The table" }));
  return slack.call("files.completeUploadExternal", { files, channel_id: channel, thread_ts: slack.asked });
}

function shared() {
  return slack.fakeSlack.thread({ channel, ts: slack.asked }).flatMap(({ files }) => files ?? []);
}

describe("an upload", () => {
  it("is seen in the thread once its last step is done, as one message", async () => {
    const { id } = await uploaded();
    expect(shared()).toEqual([]);
    expect((await complete(id)).ok).toBe(true);
    expect(shared()).toMatchObject([{ id, name: "table.csv", title: "The table", mimetype: "text/csv", size: 8 }]);
    expect(Buffer.from(slack.fakeSlack.file(id)?.bytes ?? []).toString()).toBe("a,b\n1,2\n");
  });

  it("can be completed once", async () => {
    const { id } = await uploaded();
    await complete(id);
    expect((await complete(id)).error).toBe("file_not_found");
    expect(shared().length).toBe(1);
  });

  it("is in the thread twice where this Slack completes it twice", async () => {
    await slack.fakeSlack.close();
    slack = await startCalledSlack({ completesUploadTwice: "share" });
    const { id } = await uploaded();
    await complete(id);
    await complete(id);
    expect(shared().map((file) => file.id)).toEqual([id, id]);
  });

  it("is refused without bytes, with other bytes than announced, and without a length", async () => {
    const { id } = await announce({ filename: "a.txt", length: 3 });
    expect((await complete(id)).error).toBe("file_not_found");
    expect((await uploaded(new Uint8Array(3))).status).toBe(400);
    expect((await announce({ filename: "a.txt", length: 0 })).error).toBe("missing_argument");
  });

  it("whose bytes arrive although nobody hears of it can be completed all the same", async () => {
    slack.fakeSlack.inject({ method: "upload", type: "lost_answer" });
    const { id, url } = await announce();
    await expect(fetch(url, { method: "POST", body: bytes })).rejects.toThrow();
    expect((await complete(id)).ok).toBe(true);
  });
});

describe("a person's file", () => {
  it("is told of with its address, which needs the token", async () => {
    const { message } = slack.fakeSlack.ask({
      eventsUrl: slack.fakeSlack.apiUrl,
      text: "read this",
      files: [{ name: "日本語.csv", mimetype: "text/csv", bytes }],
    });
    const thread = await slack.call("conversations.replies", { channel, ts: message.ts });
    const [{ files }] = (thread as unknown as { messages: [{ files: { url_private_download: string }[] }] }).messages;
    const url = files[0]?.url_private_download ?? "";
    const get = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const good = await get(botToken);
    expect([good.headers.get("content-type"), await good.text()]).toEqual(["text/csv", "a,b\n1,2\n"]);
    const bad = await get("xoxb-another");
    expect([bad.status, bad.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await bad.text()).not.toContain("1,2");
    slack.fakeSlack.inject({ method: "download", type: "status", status: 503 });
    expect((await get(botToken)).status).toBe(503);
  });
});
