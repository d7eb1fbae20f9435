import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import {
  createFakeSlackMessages,
  type FakeSlackMessage,
  type FakeSlackMessages,
} from "@sekisho/local/fake-slack/messages.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import fc from "fast-check";
import { botToken, callMethod, channel } from "./web-api.ts";

let folder: string;
let file: string;
let fakeSlack: FakeSlack | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fake-slack-"));
  file = join(folder, ".sekisho", "fake-slack.json");
});
afterEach(async () => {
  await fakeSlack?.close();
  fakeSlack = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function start(
  options: Partial<Parameters<typeof startFakeSlack>[0]> = {},
): Promise<FakeSlack> {
  await fakeSlack?.close();
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, file, ...options });
  return fakeSlack;
}

/** The events go nowhere. */
function ask(asked: FakeSlack, text: string) {
  return asked.ask({ eventsUrl: asked.apiUrl, text }).message;
}

describe("a fake Slack that is started again with its file", () => {
  it("restores the thread after a restart, and the late answer arrives in it", async () => {
    const first = await start();
    const question = ask(first, "slow 60s");
    const inThread = { channel, thread_ts: question.ts };
    const metadata = JSON.stringify({ event_type: "a", event_payload: { request_id: "r" } });
    const placeholder = await callMethod(first, "chat.postMessage", {
      ...inThread,
      text: "Working",
      metadata,
    });
    await callMethod(first, "reactions.add", { channel, timestamp: question.ts, name: "eyes" });
    const before = first.thread(question);

    const second = await start();
    expect(second.thread(question)).toEqual(before);
    await callMethod(second, "chat.update", { channel, ts: placeholder.ts, text: "The answer" });
    await callMethod(second, "chat.postMessage", { ...inThread, text: "Its second part" });
    expect(second.thread(question).map(({ text }) => text.replace(/^<@\w+> /, ""))).toEqual([
      "slow 60s",
      "The answer",
      "Its second part",
    ]);
  });

  it("writes the file before it answers a call", async () => {
    const running = await start();
    const { ts } = await callMethod(running, "chat.postMessage", { channel, text: "told" });
    expect(JSON.parse(readFileSync(file, "utf8")).messages).toMatchObject([{ ts, text: "told" }]);
  });

  it("restores the files of its threads, private to the user", async () => {
    const first = await start();
    const { id } = first.upload({
      name: "表.csv",
      mimetype: "text/csv",
      bytes: new Uint8Array([1, 2, 3]),
    });
    first.ask({ eventsUrl: first.apiUrl, text: "read this", fileIds: [id] });
    const second = await start();
    expect(second.messages()[0]?.files).toMatchObject([{ id, name: "表.csv" }]);
    expect([...(second.file(id)?.bytes ?? [])]).toEqual([1, 2, 3]);
    expect(statSync(join(`${file}.files`, id)).mode & 0o777).toBe(0o600);
    expect(second.file("F0/../../fake-slack")).toBeUndefined();
  });

  it("keeps a deleted message deleted and never reuses its ts, even if the clock goes back", async () => {
    const first = await start({ now: () => 1_700_000_000_000 });
    const { ts } = await callMethod(first, "chat.postMessage", { channel, text: "deleted" });
    await callMethod(first, "chat.delete", { channel, ts });
    const second = await start({ now: () => 1_600_000_000_000 });
    expect(second.messages()).toEqual([]);
    expect(Number(ask(second, "later").ts)).toBeGreaterThan(Number(ts));
  });

  it("keeps only the latest thousand messages", async () => {
    const first = await start();
    for (let count = 1; count <= 1001; count++) ask(first, `message ${count}`);
    const kept = (await start()).messages();
    expect([kept.length, kept[0]?.text, kept.at(-1)?.text]).toEqual([
      1000,
      expect.stringMatching(/ 2$/),
      expect.stringMatching(/ 1001$/),
    ]);
  });
});

describe("the file", () => {
  it("creates only files that are private to the user", async () => {
    ask(await start(), "hi");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, ".sekisho"))).toEqual([
      "fake-slack.json",
      "fake-slack.json.files",
    ]);
    expect(statSync(`${file}.files`).mode & 0o777).toBe(0o700);
  });

  it.each(["", "{", "[]", '{"lastMicros":0}', '{"lastMicros":0,"messages":[{"text":"hi"}]}'])(
    "refuses a file with %j, says what to do, and keeps the file",
    async (text) => {
      const broken = join(folder, "broken.json");
      writeFileSync(broken, text);
      await expect(start({ file: broken })).rejects.toThrow(
        `${broken} cannot be read. Delete the file`,
      );
      expect(readFileSync(broken, "utf8")).toBe(text);
    },
  );

  it("logs a file that cannot be written and keeps running", async () => {
    const lines: string[] = [];
    const running = await start({
      log: createLog({ service: "sekisho", write: (line) => lines.push(line) }),
    });
    rmSync(join(folder, ".sekisho"), { recursive: true });
    ask(running, "hi");
    expect(running.messages().length).toBe(1);
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({
      message: "fake_slack_not_stored",
      cause_kind: "ENOENT",
    });
  });

  it("creates no file unless one is configured", async () => {
    ask(await start({ file: undefined }), "hi");
    expect(existsSync(file)).toBe(false);
  });
});

const now = () => 1_790_000_000_000;
const change = fc.record({
  type: fc.constantFrom("post", "reply", "change", "remove"),
  channel: fc.constantFrom("C1", "C2"),
  which: fc.nat(9),
});

function perform(
  messages: FakeSlackMessages,
  { type, channel, which }: typeof change extends fc.Arbitrary<infer D> ? D : never,
) {
  const all = messages.all();
  const chosen: FakeSlackMessage | undefined = all[which % Math.max(all.length, 1)];
  const said = { user: "U1", text: "hi", metadata: undefined };
  if (type === "post" || chosen === undefined)
    messages.add({ ...said, channel, threadTs: undefined });
  else if (type === "change") messages.change(chosen, { text: "changed" });
  else if (type === "remove") messages.remove(chosen);
  else messages.add({ ...said, channel: chosen.channel, threadTs: chosen.threadTs ?? chosen.ts });
}

/** The thread according to a scan of all messages. */
function threadOf(
  messages: FakeSlackMessages,
  { channel, ts }: FakeSlackMessage,
): FakeSlackMessage[] {
  const isIn = (message: FakeSlackMessage) =>
    message.channel === channel && (message.ts === ts || message.threadTs === ts);
  return messages.all().filter(isIn);
}

describe("the fake Slack's messages", () => {
  it("returns a thread as the message and its replies, oldest first, after any changes", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (made) => {
        let stored: Parameters<typeof createFakeSlackMessages>[0]["stored"];
        const messages = createFakeSlackMessages({ now, save: (all) => (stored = all) });
        const seen: FakeSlackMessage[] = [];
        messages.onChange((news) => news.type === "message" && seen.push(news.message));
        for (const each of made) perform(messages, each);
        const restored = createFakeSlackMessages({ now, stored });
        for (const message of seen) {
          expect(messages.thread(message)).toEqual(threadOf(messages, message));
          expect(restored.thread(message)).toEqual(threadOf(messages, message));
        }
      }),
    );
  });
});
