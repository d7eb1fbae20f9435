/** Files as they go for real: from Slack's fake Slack to the agent's reader, and from an agent's answer into Slack. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLocalAttachmentFetch, createReadAttachment } from "../../../lambdas/execution/runs/run.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createPublicFetch } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { createFiles } from "../../../lambdas/verification/files/create-files.ts";
import { startVerificationServer, type VerificationServer } from "../../../lambdas/verification/ingress/server.ts";
import { createBotTokens } from "../../../lambdas/verification/installations/installations.ts";
import { readUserFiles } from "../../../lambdas/verification/slack/api/user-text.ts";
import { createSlackApi } from "../../../lambdas/verification/slack/api/web-api.ts";
import { type FakeSlack, startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { type LocalFileStore, openFileStore } from "../../../lib/local/file-store.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleTask } from "../task/sample.ts";
import { png } from "./sample-files.ts";

const { signal } = new AbortController();
let fakeSlack: FakeSlack;
let server: VerificationServer;
let events: WebServer;
let store: LocalFileStore;
let folder: string;
/** The files of the last event, as Slack describes them. */
let told: unknown[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-both-ways-"));
  fakeSlack = await startFakeSlack({ signingSecret: "shh", botToken: "xoxb-right" });
  store = openFileStore({ folder: join(folder, "files"), baseUrl: () => server.url });
  server = await startVerificationServer({
    ingress: async () => ({ status: 404, headers: {}, body: "" }),
    page: (request, response) => store.page(request, response),
    port: 0,
  });
  events = await startWebServer({
    async handle({ body }) {
      told = JSON.parse(Buffer.from(body).toString()).event.files;
      return new Response();
    },
  });
});

afterEach(async () => {
  store.close();
  await Promise.all([fakeSlack.close(), server.close(), events.close()]);
  rmSync(folder, { recursive: true, force: true });
});

function filesWith({ botToken = "xoxb-right" } = {}) {
  const tokens = createBotTokens({ botToken: async () => botToken });
  return createFiles({
    slack: createSlackApi({ tokens, apiUrl: fakeSlack.apiUrl, log: silentLog }),
    token: tokens.tokenOf,
    newerToken: tokens.newerThan,
    apiUrl: fakeSlack.apiUrl,
    store,
    publicFetch: () => createPublicFetch(),
    maxBytes: 1000,
    maxCount: 5,
  });
}

async function askedTask() {
  const files = [{ name: "dot.txt", mimetype: "text/plain", bytes: png }];
  await fakeSlack.ask({ eventsUrl: events.url, text: "What is in it?", files }).delivered;
  const task = sampleTask();
  return { ...task, message: { ...task.message, files: readUserFiles(told) } };
}

describe("a file that a person attaches", () => {
  it("reaches the agent without a token of Slack, as what it is, unchanged", async () => {
    const task = await askedTask();
    const [attachment, ...others] = await filesWith().importAttachments({ task, signal });
    expect(others).toEqual([]);
    if (attachment === undefined) throw new Error("unreachable");
    expect(attachment).toMatchObject({ name: "dot.txt", mimetype: "image/png", size: png.byteLength });
    const publicFetch = createLocalAttachmentFetch({ verificationPort: () => server.port });
    const read = createReadAttachment({ publicFetch, signal, log: silentLog });
    const bytes = await read({ attachment });
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(attachment.sha256);
    expect(Buffer.from(bytes)).toEqual(Buffer.from(png));
  });

  it("is not to be had with a token that Slack does not take, although Slack answers with a page and 200", async () => {
    const task = await askedTask();
    const bringing = filesWith({ botToken: "xoxb-withdrawn" }).importAttachments({ task, signal });
    await expect(bringing).rejects.toMatchObject({ outcome: { why: "not_to_be_had", name: "dot.txt" } });
  });
});

describe("a file that an agent makes", () => {
  it("is in Slack as it was made, and in nobody's thread yet", async () => {
    const base64 = Buffer.from(png).toString("base64");
    const artifacts = [{ name: "red-dot.png", mimetype: "image/png", base64 }];
    const task = sampleTask({ outcome: { type: "answer", text: "Here it is.", artifacts } });
    const { fileId } = await filesWith().upload({ task, index: 0, signal });
    const kept = fakeSlack.file(fileId);
    expect(kept).toMatchObject({ name: "red-dot.png", size: png.byteLength });
    expect(Buffer.from(kept?.bytes ?? [])).toEqual(Buffer.from(png));
    expect(fakeSlack.messages()).toEqual([]);
  });
});
