import { createServer } from "node:http";
import { describe, expect, it } from "@jest/globals";
import type { FileOfPerson } from "@sekisho/local/fake-slack/persons.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { isUploadUrl } from "@sekisho/verification/slack/api/files.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { withGrowingLimit } from "../../../doubles/growing-limit.ts";
import { listen, serve } from "../../../doubles/serving.ts";
import { appId, failure, slackClient } from "./slack-client.ts";

const client = slackClient();
const bytes = Buffer.from("harbour,ships\nNaruto,7\n");

/** Answers every request alike. */
async function answering(status: number, headers: Record<string, string> = {}) {
  const { url, received: requests } = await serve(() => new Response(null, { status, headers }));
  const readHeaders = () => requests.map(({ request }) => Object.fromEntries(request.headers));
  return { seen: readHeaders, apiUrl: `${url}/api/`, url: `${url}/upload/v1/abc` };
}

describe("an uploaded file", () => {
  it("shows a file in the thread only after all three steps", async () => {
    const { api, common, asked, fakeSlack } = client();
    const { fileId, url } = await api().startUpload({
      ...common,
      name: "harbour.csv",
      length: bytes.length,
    });
    await api().sendUpload({ ...common, url, bytes });
    const inThread = async () => {
      const replies = await api().replies({
        ...common,
        threadTs: asked.ts,
        oldestTs: asked.ts,
        appId,
      });
      return replies.flatMap(({ fileIds }) => fileIds);
    };
    expect(await inThread()).toEqual([]);
    await api().shareUploads({
      ...common,
      threadTs: asked.ts,
      files: [{ fileId, title: "harbour.csv" }],
    });
    expect(await inThread()).toEqual([fileId]);
    expect(Buffer.from(fakeSlack.file(fileId)?.bytes ?? []).toString()).toBe(bytes.toString());
  });

  it("shares a file only once and reports a lost answer as ambiguous", async () => {
    const { api, common, asked, fakeSlack, waits } = client();
    const { fileId, url } = await api().startUpload({
      ...common,
      name: "harbour.csv",
      length: bytes.length,
    });
    await api().sendUpload({ ...common, url, bytes });
    fakeSlack.inject({ method: "files.completeUploadExternal", type: "lost_answer" });
    const share = api().shareUploads({
      ...common,
      threadTs: asked.ts,
      files: [{ fileId, title: "harbour.csv" }],
    });
    expect((await failure(share)).kind).toBe("ambiguous");
    expect(waits).toEqual([]);
  });

  it("requests another upload address after a lost answer", async () => {
    const { api, common, fakeSlack, waits } = client();
    fakeSlack.inject({ method: "files.getUploadURLExternal", type: "lost_answer" });
    await api().startUpload({ ...common, name: "harbour.csv", length: bytes.length });
    expect(waits.length).toBe(1);
  });

  it.each([
    ["file_uploads_disabled", "refused"],
    ["storage_limit_reached", "refused"],
    ["file_type_not_allowed", "refused"],
    ["account_inactive", "gone"],
  ])("reports the upload error %s as %s", async (error, kind) => {
    const { api, common, fakeSlack } = client();
    fakeSlack.inject({ method: "files.getUploadURLExternal", type: "error", error });
    const call = api().startUpload({ ...common, name: "harbour.csv", length: bytes.length });
    expect(await failure(call)).toMatchObject({ kind, slackError: error });
  });
});

describe("the bytes of a file", () => {
  it("sends the bytes without a token to the address that Slack gave", async () => {
    const { api, common } = client();
    const { seen, apiUrl, url } = await answering(200);
    await api({ apiUrl }).sendUpload({ ...common, url, bytes });
    expect(seen()).toEqual([expect.objectContaining({ "content-length": String(bytes.length) })]);
    expect(JSON.stringify(seen())).not.toMatch(/authorization|cookie|xoxb/);
  });

  it.each([
    [400, "unavailable"],
    [413, "refused"],
    [429, "rate_limited"],
    [500, "ambiguous"],
    [503, "ambiguous"],
  ])("reports bytes answered with %d as %s", async (status, kind) => {
    const { api, common } = client();
    const { apiUrl, url } = await answering(status, { "retry-after": "600" });
    expect((await failure(api({ apiUrl }).sendUpload({ ...common, url, bytes }))).kind).toBe(kind);
  });

  it("follows no redirect with the bytes", async () => {
    const { api, common } = client();
    const elsewhere = await answering(200);
    const { apiUrl, url } = await answering(307, { location: elsewhere.url });
    expect((await failure(api({ apiUrl }).sendUpload({ ...common, url, bytes }))).kind).toBe(
      "unavailable",
    );
    expect(elsewhere.seen()).toEqual([]);
  });

  it("reports a closed port as unavailable and a time-out as ambiguous", async () => {
    const { api, common } = client();
    const deadUrl = `http://127.0.0.1:${await freePort()}/`;
    const dead = api({ apiUrl: `${deadUrl}api/` }).sendUpload({
      ...common,
      url: `${deadUrl}upload`,
      bytes,
    });
    expect((await failure(dead)).kind).toBe("unavailable");
    let requestCount = 0;
    const silentServer = createServer(() => {
      requestCount += 1;
    });
    const origin = `http://127.0.0.1:${await listen(silentServer)}`;
    const lateFailure = await withGrowingLimit({
      firstMs: 50,
      attempt: (uploadTimeoutMs) => {
        const slack = api({ apiUrl: `${origin}/api/`, uploadTimeoutMs });
        return failure(slack.sendUpload({ ...common, url: `${origin}/upload`, bytes }));
      },
      isFair: () => requestCount > 0,
    });
    expect(lateFailure.kind).toBe("ambiguous");
  });

  it("sends the bytes to no other address", async () => {
    const { api, common } = client();
    const elsewhere = await answering(200);
    const call = api().sendUpload({ ...common, url: elsewhere.url, bytes });
    expect((await failure(call)).kind).toBe("refused");
    expect(elsewhere.seen()).toEqual([]);
  });
});

describe("an address for uploads", () => {
  const real = "https://slack.com/api/";
  it.each([
    ["https://files.slack.com/upload/v1/abc", real, true],
    ["https://slack.com/upload", real, true],
    ["http://files.slack.com/upload/v1/abc", real, false],
    ["https://files.slack.com:8443/upload", real, false],
    ["https://files.slack.com.evil.example/upload", real, false],
    ["https://evil.example/files.slack.com", real, false],
    ["https://user@files.slack.com/upload", real, false],
    ["http://127.0.0.1:3001/upload", real, false],
    ["http://169.254.169.254/latest", real, false],
    ["http://127.0.0.1:3001/upload", "http://127.0.0.1:3001/api/", true],
    ["http://127.0.0.1:3002/upload", "http://127.0.0.1:3001/api/", false],
    ["http://slack.example/upload", "http://slack.example/api/", false],
    ["file:///etc/passwd", real, false],
    ["nonsense", real, false],
  ])(
    "decides whether the upload address %s belongs to the Web API at %s: %s",
    (url, apiUrl, isAllowed) => {
      expect(isUploadUrl({ url, apiUrl })).toBe(isAllowed);
    },
  );

  it("never accepts an upload address on another host", () => {
    forAll(fc.webUrl({ validSchemes: ["http", "https"] })).hold((url) => {
      expect(isUploadUrl({ url, apiUrl: real })).toBe(false);
    });
  });
});

describe("the description of a file", () => {
  const upload = (file: Partial<FileOfPerson>) =>
    client().fakeSlack.upload({ name: "plan.csv", mimetype: "text/csv", bytes, ...file });

  it("describes a file of which a message shows only the id", async () => {
    const { api, common } = client();
    const { id, size } = upload({ access: "check_file_info" });
    const url = expect.stringMatching(/^http:/);
    expect(await api().fileInfo({ ...common, file: id })).toEqual({
      id,
      name: "plan.csv",
      mimetype: "text/csv",
      size,
      url,
    });
  });

  it.each([["access_denied"], ["file_not_found"], ["file_deleted"], ["canvas_not_found"]])(
    "reports a refusal for %s",
    async (error) => {
      const { api, common, fakeSlack } = client();
      fakeSlack.inject({ method: "files.info", type: "error", error });
      const { kind, slackError } = await failure(api().fileInfo({ ...common, file: "F1" }));
      expect([slackError, kind === "gone" || kind === "refused"]).toEqual([error, true]);
    },
  );

  it("returns the text of a canvas in one piece", async () => {
    const { api, common } = client();
    const { id } = upload({
      name: "Plan",
      mimetype: "application/vnd.slack-docs",
      bytes: Buffer.from("# Plan"),
    });
    expect(await api().canvasContent({ ...common, canvas: id })).toBe("# Plan");
    expect((await failure(api().canvasContent({ ...common, canvas: "F0" }))).slackError).toBe(
      "canvas_not_found",
    );
  });
});
