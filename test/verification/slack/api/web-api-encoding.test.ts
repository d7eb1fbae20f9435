import { describe, expect, it } from "@jest/globals";
import { workspace } from "../../../../lib/local/fake-slack/workspace.ts";
import { appId, botToken, failure, requestId, slackClient } from "./slack-client.ts";

const client = slackClient();
const key = { requestId, part: 1 };
/** Half a character, as an answer that was cut in the middle of an emoji ends. */
const half = "Done 😀".slice(0, -1);
const whole = "Done \ufffd";

describe("text with half a character", () => {
  it("is posted and edited with U+FFFD in its place, in text and blocks", async () => {
    const { api, common, asked, fakeSlack, lines } = client();
    const content = { text: half, blocks: [{ type: "markdown", text: half }] };
    const { ts } = await api().post({ ...common, threadTs: asked.ts, content, key });
    const shown = () => fakeSlack.messages().find((message) => message.ts === ts);
    expect(shown()).toMatchObject({ text: whole, blocks: [{ type: "markdown", text: whole }] });
    await api().update({ ...common, ts, content: { text: `${half}!` }, key });
    expect(shown()?.text).toBe(`${whole}!`);
    expect(lines).toEqual([]);
  });

  it("is shown in whispers, streams, statuses and prompts", async () => {
    const { api, common, asked, fakeSlack } = client();
    const inThread = { ...common, threadTs: asked.ts };
    const user = workspace.person;
    await api().postEphemeral({ ...inThread, user, text: half });
    expect(fakeSlack.ephemeralMessages()).toMatchObject([{ text: whole }]);
    const { ts } = await api().startStream({ ...inThread, user, markdown: half });
    await api().appendStream({ ...common, ts, markdown: half });
    expect(fakeSlack.messages().find((message) => message.ts === ts)?.text).toBe(whole + whole);
    await api().setStatus({ ...inThread, status: half });
    expect(fakeSlack.statuses()).toMatchObject([{ status: whole }]);
    await api().suggestPrompts({ ...inThread, prompts: [{ title: half, message: half }] });
    expect(JSON.stringify(fakeSlack.prompts())).toContain(whole);
  });

  it("may be a file's name", async () => {
    const { api, common, asked, fakeSlack } = client();
    const { fileId, url } = await api().startUpload({ ...common, name: half, length: 1 });
    await api().sendUpload({ ...common, url, bytes: Buffer.from("x") });
    await api().shareUploads({ ...common, threadTs: asked.ts, files: [{ fileId, title: half }] });
    expect(fakeSlack.file(fileId)).toMatchObject({ name: whole, title: whole });
  });

  it("is refused by the fake Slack where somebody sends it all the same", async () => {
    const { fakeSlack, common } = client();
    const call = (body: string) =>
      fetch(`${fakeSlack.apiUrl}chat.postMessage`, {
        method: "POST",
        headers: { authorization: `Bearer ${botToken}`, "content-type": "application/x-www-form-urlencoded" },
        body: `channel=${common.channel}&${body}`,
      }).then((response) => response.json());
    expect(await call("text=Done%ED%A0%BD")).toMatchObject({ ok: false, error: "invalid_charset" });
    const blocks = encodeURIComponent(JSON.stringify([{ type: "markdown", text: half }]));
    expect(await call(`text=Done&blocks=${blocks}`)).toMatchObject({ ok: false, error: "invalid_arguments" });
  });
});

describe("a call that cannot be encoded", () => {
  const cycle: Record<string, unknown> = { type: "section" };
  cycle.text = cycle;
  let nested: unknown = "deep";
  for (let depth = 0; depth < 20_000; depth++) nested = [nested];

  it.each([
    ["a BigInt", { type: "section", text: 1n }],
    ["a cycle", cycle],
    ["lists nested 20,000 deep", { type: "section", text: nested }],
  ])("is refused and not repeated: %s", async (_what, block) => {
    const { api, common, asked, calls, waits } = client();
    const content = { text: "Done.", blocks: [{ ...block, type: "section" }] };
    expect((await failure(api().post({ ...common, threadTs: asked.ts, content, key }))).kind).toBe("refused");
    const ts = asked.ts;
    expect((await failure(api().update({ ...common, ts, content, key }))).kind).toBe("refused");
    expect(calls).toEqual([]);
    expect(waits).toEqual([]);
  });

  it("is refused like a bad token where the token cannot be sent", async () => {
    const { api, post, calls } = client();
    for (const token of [`${botToken}\n`, `${botToken}あ`, ""]) {
      const tokens = { tokenOf: async () => token, newerThan: async () => undefined };
      expect(await failure(post(api({ tokens })))).toMatchObject({ kind: "gone", slackError: "invalid_auth" });
    }
    expect(calls).toEqual([]);
  });

  it("can be read again where the token was rotated meanwhile", async () => {
    const { api, post, common, asked } = client();
    const tokens = { tokenOf: async () => `${botToken}\n`, newerThan: async () => botToken };
    await post(api({ tokens }));
    expect((await api().replies({ ...common, threadTs: asked.ts, oldestTs: asked.ts, appId })).length).toBe(2);
  });
});
