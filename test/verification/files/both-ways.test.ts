/** Files as they go for real: from Slack's stand-in to the agent's reader, and from an agent's answer into Slack. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type LocalFileStore, openFileStore } from "../../../bin/local/file-store.ts";
import { type SlackStandIn, startSlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { createLocalAttachmentFetch } from "../../../lambdas/execution/host/local-attachment-fetch.ts";
import { createReadAttachment } from "../../../lambdas/execution/host/read-attachment.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createPublicFetch } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { createFiles } from "../../../lambdas/verification/files/create-files.ts";
import { askedFiles } from "../../../lambdas/verification/ingress/asked-files.ts";
import { startVerificationServer, type VerificationServer } from "../../../lambdas/verification/ingress/server.ts";
import { createTokens } from "../../../lambdas/verification/installations/tokens.ts";
import { createSlackApi } from "../../../lambdas/verification/slack/web-api.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleTask } from "../task/sample.ts";
import { png } from "./sample-files.ts";

const { signal } = new AbortController();
let standIn: SlackStandIn;
let server: VerificationServer;
let events: WebServer;
let store: LocalFileStore;
let folder: string;
/** The files of the last event, as Slack describes them. */
let told: unknown[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-both-ways-"));
  standIn = await startSlackStandIn({ signingSecret: "shh", botToken: "xoxb-right" });
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
  await Promise.all([standIn.close(), server.close(), events.close()]);
  rmSync(folder, { recursive: true, force: true });
});

function filesWith({ botToken = "xoxb-right" } = {}) {
  const tokens = createTokens({ botToken: async () => botToken });
  return createFiles({
    slack: createSlackApi({ tokens, apiUrl: standIn.apiUrl, log: silentLog }),
    token: tokens.tokenOf,
    newerToken: tokens.newerThan,
    apiUrl: standIn.apiUrl,
    store,
    publicFetch: () => createPublicFetch(),
    maxBytes: 1000,
    maxCount: 5,
  });
}

async function askedTask() {
  const files = [{ name: "dot.txt", mimetype: "text/plain", bytes: png }];
  await standIn.ask({ eventsUrl: events.url, text: "What is in it?", files }).delivered;
  const task = sampleTask();
  return { ...task, message: { ...task.message, files: askedFiles(told) } };
}

describe("a file that a person attaches", () => {
  it("reaches the agent without a token of Slack, as what it is, unchanged", async () => {
    const task = await askedTask();
    const [attachment, ...others] = await filesWith().bringIn({ task, signal });
    expect(others).toEqual([]);
    if (attachment === undefined) throw new Error("unreachable");
    expect(attachment).toMatchObject({ name: "dot.txt", mimetype: "image/png", size: png.byteLength });
    const read = createReadAttachment({ publicFetch: createLocalAttachmentFetch(), signal, log: silentLog });
    const bytes = await read({ attachment });
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(attachment.sha256);
    expect(Buffer.from(bytes)).toEqual(Buffer.from(png));
  });

  it("is not to be had with a token that Slack does not take, although Slack answers with a page and 200", async () => {
    const task = await askedTask();
    const bringing = filesWith({ botToken: "xoxb-withdrawn" }).bringIn({ task, signal });
    await expect(bringing).rejects.toMatchObject({ outcome: { why: "not_to_be_had", name: "dot.txt" } });
  });
});

describe("a file that an agent makes", () => {
  it("is in Slack as it was made, and in nobody's thread yet", async () => {
    const base64 = Buffer.from(png).toString("base64");
    const artifacts = [{ name: "red-dot.png", mimetype: "image/png", base64 }];
    const task = sampleTask({ outcome: { type: "answer", text: "Here it is.", artifacts } });
    const { fileId } = await filesWith().upload({ task, index: 0, signal });
    const kept = standIn.file(fileId);
    expect(kept).toMatchObject({ name: "red-dot.png", size: png.byteLength });
    expect(Buffer.from(kept?.bytes ?? [])).toEqual(Buffer.from(png));
    expect(standIn.messages()).toEqual([]);
  });
});
