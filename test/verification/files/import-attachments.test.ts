import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { attachmentSchema } from "../../../contracts/methods.ts";
import { createLog, type LogFields } from "../../../lambdas/shared/log.ts";
import { createFiles } from "../../../lambdas/verification/files/create-files.ts";
import { FileRefused, type FileStore } from "../../../lambdas/verification/files/files.ts";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import type { Installation, UserFile } from "../../../lambdas/verification/task/messages.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { type Received, startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleCall, sampleTask } from "../task/sample.ts";
import { pdf, png } from "./sample-files.ts";

const hourMs = 3600_000;
const nowMs = 1_760_000_000_000;
const tokens: Record<string, string> = { T1: "xoxb-of-t1", E1: "xoxb-of-e1" };

let slack: WebServer;
let answer: (received: Received) => Response | Promise<Response>;
let authorizations: (string | null)[] = [];
let stored: Parameters<FileStore["put"]>[0][] = [];
let lines = "";

beforeEach(async () => {
  authorizations = [];
  stored = [];
  lines = "";
  answer = ({ request }) => {
    if (request.headers.get("authorization") === "Bearer xoxb-of-t1") return new Response(png);
    return new Response("<!DOCTYPE html><html>Sign in", { headers: { "content-type": "text/html" } });
  };
  slack = await startWebServer({
    handle: async (received) => {
      authorizations.push(received.request.headers.get("authorization"));
      return answer(received);
    },
  });
});

afterEach(() => slack.close());

const keeping: FileStore = {
  async put(request) {
    stored.push(request);
    return { url: `https://files.example/${request.key}`, expiresAtMs: request.expiresAtMs };
  },
};

function filesWith({
  store = keeping,
  maxCount = 10,
  token = async ({ team }: Installation) => tokens[team] ?? "",
  transferTimeoutMs = 2000,
  newerToken = async (_request: { tried: string }): Promise<string | undefined> => undefined,
} = {}) {
  return createFiles({
    slack: { startUpload: unexpected, sendUpload: unexpected },
    token,
    newerToken,
    apiUrl: `${slack.url}/api/`,
    store,
    publicFetch: () => unexpected,
    maxBytes: 1000,
    maxCount,
    transferTimeoutMs,
    now: () => nowMs,
    log: createLog({
      service: "verification",
      write(line) {
        lines += line;
      },
    }),
  });
}

function unexpected(): never {
  throw new Error("not here");
}

function file(changes: Partial<UserFile> = {}): UserFile {
  const id = changes.id ?? "F1";
  return {
    id,
    name: "a.png",
    mimetype: "image/png",
    size: png.byteLength,
    url: `${slack.url}/files-pri/${id}`,
    ...changes,
  };
}

function taskWith(files: UserFile[] | undefined, changes: Partial<Task> = {}): Task {
  const task = sampleTask(changes);
  return { ...task, message: { ...task.message, ...(files === undefined ? {} : { files }) } };
}

function importAttachments(
  files: UserFile[] | undefined,
  options: Parameters<typeof filesWith>[0] = {},
  changes: Partial<Task> = {},
) {
  const { signal } = new AbortController();
  return filesWith(options).importAttachments({ task: taskWith(files, changes), signal });
}

async function refusalOf(bringing: Promise<unknown>) {
  const thrown: unknown = await bringing.then(undefined, (reason: unknown) => reason);
  if (!(thrown instanceof FileRefused)) throw thrown;
  return thrown.outcome;
}

describe("files of a message", () => {
  it("come to where the Execution zone can read them, told by their bytes, in the message's order", async () => {
    answer = ({ target }) => new Response(target.endsWith("F1") ? png : pdf);
    const files = [file(), file({ id: "F2", name: "../b.txt", mimetype: "text/plain", size: 1 })];
    const attachments = await importAttachments(files);
    const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
    const expires_at = new Date(nowMs + hourMs).toISOString();
    const { id } = sampleTask();
    expect(attachments).toEqual([
      {
        id: "F1",
        name: "a.png",
        mimetype: "image/png",
        size: png.byteLength,
        sha256: sha256(png),
        url: `https://files.example/${id}/F1`,
        expires_at,
      },
      {
        id: "F2",
        name: "b.txt",
        mimetype: "application/pdf",
        size: pdf.byteLength,
        sha256: sha256(pdf),
        url: `https://files.example/${id}/F2`,
        expires_at,
      },
    ]);
    for (const attachment of attachments) attachmentSchema.parse(attachment);
    expect(authorizations).toEqual(["Bearer xoxb-of-t1", "Bearer xoxb-of-t1"]);
  });

  it("are the same files when it is asked again, under the same names", async () => {
    expect(await importAttachments([file()])).toEqual(await importAttachments([file()]));
    expect(stored.map(({ key }) => key)).toEqual([`${sampleTask().id}/F1`, `${sampleTask().id}/F1`]);
  });

  it("cost nothing where there are none, not even a look at the token", async () => {
    expect(await importAttachments(undefined, { token: unexpected })).toEqual([]);
    expect(await importAttachments([], { token: unexpected })).toEqual([]);
  });

  it("can be read as long as the task may take, but not for more than a day", async () => {
    await importAttachments([file()], {}, { call: sampleCall({ deadlineAtMs: nowMs + 8 * hourMs }) });
    await importAttachments([file()], {}, { call: sampleCall({ deadlineAtMs: nowMs + 48 * hourMs }) });
    expect(stored.map(({ expiresAtMs }) => expiresAtMs - nowMs)).toEqual([8 * hourMs, 24 * hourMs]);
  });

  it("are refused where one is larger than allowed, whatever Slack says of its size", async () => {
    answer = () => new Response("x".repeat(1001));
    const files = [file({ name: "big.txt", mimetype: "text/plain", size: 1 })];
    expect(await refusalOf(importAttachments(files))).toEqual({
      type: "file_refused",
      why: "too_large",
      name: "big.txt",
      most: 1000,
    });
    answer = () => new Response(png);
    expect(await importAttachments([file({ size: 1_000_000 })])).toHaveLength(1);
  });

  it("are refused where there are too many, before any is fetched", async () => {
    const files = [file(), file({ id: "F2", name: "second.png" }), file({ id: "F3" })];
    const refused = { type: "file_refused", why: "too_many", name: "second.png", most: 1 };
    expect(await refusalOf(importAttachments(files, { maxCount: 1 }))).toEqual(refused);
    expect(await refusalOf(importAttachments([file()], { maxCount: 0 }))).toMatchObject({ why: "too_many", most: 0 });
    expect(authorizations).toEqual([]);
  });

  it.each([
    ["is not in Slack", { url: undefined }],
    ["is elsewhere", { url: "https://files.example/a.png" }],
    ["has an id that is none of Slack's", { id: "../F1" }],
  ])("are refused before anything is sent where one %s", async (_what, changes) => {
    const refused = await refusalOf(importAttachments([file({ name: "a\u0000.png", ...changes })]));
    expect(refused).toEqual({ type: "file_refused", why: "not_to_be_had", name: "a.png" });
    expect(authorizations).toEqual([]);
  });

  it("are refused where Slack shows the page to sign in, which is never taken for a file", async () => {
    tokens.T1 = "xoxb-withdrawn";
    try {
      expect(await refusalOf(importAttachments([file()]))).toMatchObject({ why: "not_to_be_had", name: "a.png" });
    } finally {
      tokens.T1 = "xoxb-of-t1";
    }
    expect(stored).toEqual([]);
    const { reason }: LogFields = JSON.parse(lines);
    expect(reason).toBe("not_to_be_had");
    expect(lines).not.toMatch(/a\.png|xoxb/);
  });

  it("are fetched with the token of the installation that the message came by", async () => {
    answer = () => new Response(png);
    const task = taskWith([file()]);
    const grid = { ...task, message: { ...task.message, team: "T9", enterprise: "E1" } };
    const token = async ({ enterprise = "" }: Installation) => tokens[enterprise] ?? "";
    await filesWith({ token }).importAttachments({ task: grid, signal: new AbortController().signal });
    expect(authorizations).toEqual(["Bearer xoxb-of-e1"]);
  });

  it("are fetched with a newer token where Slack does not take the kept one, once", async () => {
    const tried: string[] = [];
    const newerToken = async (request: { tried: string }) => {
      tried.push(request.tried);
      return "xoxb-of-t1";
    };
    const token = async () => "xoxb-rotated";
    expect(await importAttachments([file()], { token, newerToken })).toHaveLength(1);
    expect(authorizations).toEqual(["Bearer xoxb-rotated", "Bearer xoxb-of-t1"]);
    expect(tried).toEqual(["xoxb-rotated"]);
    answer = () => new Response(null, { status: 403 });
    expect(await refusalOf(importAttachments([file()], { token, newerToken }))).toMatchObject({ why: "not_to_be_had" });
    expect(authorizations).toHaveLength(4);
    const unread = () => Promise.reject(new Error("no secret"));
    expect(await refusalOf(importAttachments([file()], { newerToken: unread }))).toMatchObject({
      why: "not_to_be_had",
    });
  });

  it("may come another time where Slack, the store or the token is away", async () => {
    const away = { put: () => Promise.reject(new Error("no store")) };
    await expect(importAttachments([file()], { store: away })).rejects.toMatchObject({
      name: "SlackError",
      kind: "unavailable",
    });
    await expect(
      importAttachments([file()], { token: () => Promise.reject(new Error("no secret")) }),
    ).rejects.toMatchObject({
      kind: "unavailable",
    });
    const gone = new SlackError("gone", { slackError: "account_inactive" });
    await expect(importAttachments([file()], { token: () => Promise.reject(gone) })).rejects.toBe(gone);
    answer = () => new Response("slow down", { status: 429, headers: { "retry-after": "3" } });
    await expect(importAttachments([file()])).rejects.toMatchObject({ kind: "rate_limited", retryAfterMs: 3000 });
  });

  it("are no longer fetched when one of them is refused, or the worker gives up", async () => {
    const hungUp = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    answer = ({ request, target }) => {
      if (target.endsWith("F2")) return started.promise.then(() => new Response(null, { status: 404 }));
      request.signal.addEventListener("abort", () => hungUp.resolve());
      started.resolve();
      return new Promise(() => {});
    };
    const files = [file(), file({ id: "F2", name: "gone.png" })];
    const refused = refusalOf(importAttachments(files, { transferTimeoutMs: 60_000 }));
    expect(await refused).toMatchObject({ name: "gone.png" });
    await hungUp.promise;

    const { signal } = new AbortController();
    const given = AbortSignal.any([signal, AbortSignal.timeout(30)]);
    answer = () => new Promise(() => {});
    const bringing = filesWith().importAttachments({ task: taskWith([file()]), signal: given });
    await expect(bringing).rejects.toMatchObject({ name: "SlackError", kind: "unavailable" });
  });
});
