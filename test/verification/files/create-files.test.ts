import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { attachmentSchema } from "@sekisho/contracts/methods.ts";
import {
  createLocalAttachmentFetch,
  createReadAttachment,
} from "@sekisho/execution/runs/attachments.ts";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { openFileStore } from "@sekisho/local/file-store.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createPublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { createConcurrencyLimit } from "@sekisho/verification/files/concurrency-limit.ts";
import { createFiles } from "@sekisho/verification/files/create-files.ts";
import { FileRefused, type FileStore } from "@sekisho/verification/files/files.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "@sekisho/verification/ingress/server.ts";
import { createBotTokens } from "@sekisho/verification/installations/installations.ts";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { readUserFiles } from "@sekisho/verification/slack/api/user-text.ts";
import { createSlackApi } from "@sekisho/verification/slack/api/web-api.ts";
import type { Installation, UserFile } from "@sekisho/verification/task/messages.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { closeAfterTest, serve } from "../../doubles/serving.ts";
import type { Received } from "../../doubles/web-server.ts";
import { sampleCall, sampleTask } from "../task/sample.ts";
import { pdf, png } from "./sample-files.ts";

const hourMs = 3600_000;
const nowMs = 1_760_000_000_000;
const tokens: Record<string, string> = { T1: "xoxb-of-t1", E1: "xoxb-of-e1" };
let slack: Awaited<ReturnType<typeof serve>>;
let answer: (call: Received) => Response | Promise<Response>;
let storeRequests: Parameters<FileStore["put"]>[0][] = [];
const { log, lines } = collectLog();
const authorizations = () =>
  slack.received.map(({ request }) => request.headers.get("authorization"));

beforeEach(async () => {
  storeRequests = [];
  lines.length = 0;
  answer = ({ request }) => {
    if (request.headers.get("authorization") === "Bearer xoxb-of-t1") return new Response(png);
    return new Response("<!DOCTYPE html><html>Sign in", {
      headers: { "content-type": "text/html" },
    });
  };
  slack = await serve((call) => answer(call));
});

const keeping: FileStore = {
  async put(request) {
    storeRequests.push(request);
    return { url: `https://files.example/${request.key}`, expiresAtMs: request.expiresAtMs };
  },
};

function filesWith({
  fileInfo = unexpected as SlackApi["fileInfo"],
  canvasContent = unexpected as SlackApi["canvasContent"],
  store = keeping,
  maxCount = 10,
  token = async ({ team }: Installation) => tokens[team] ?? "",
  transferTimeoutMs = 2000,
  newerToken = async (_request: { tried: string }): Promise<string | undefined> => undefined,
} = {}) {
  return createFiles({
    slack: { fileInfo, canvasContent, startUpload: unexpected, sendUpload: unexpected },
    token,
    newerToken,
    apiUrl: `${slack.url}/api/`,
    store,
    publicFetch: () => unexpected,
    maxBytes: 1000,
    maxCount,
    transferTimeoutMs,
    now: () => nowMs,
    log,
  });
}

function unexpected(): never {
  throw new Error("not here");
}

function file(changes: Partial<UserFile> = {}): UserFile {
  const id = changes.id ?? "F1";
  const url = `${slack.url}/files-pri/${id}`;
  return { id, name: "a.png", mimetype: "image/png", size: png.byteLength, url, ...changes };
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
  const error: unknown = await bringing.then(undefined, (reason: unknown) => reason);
  if (!(error instanceof FileRefused)) throw error;
  return error.outcome;
}

describe("files of a message", () => {
  it("stores the files of a message in order with the types that their bytes show", async () => {
    answer = ({ target }) => new Response(target.endsWith("F1") ? png : pdf);
    const files = [file(), file({ id: "F2", name: "../b.txt", mimetype: "text/plain", size: 1 })];
    const attachments = await importAttachments(files);
    const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
    const expires_at = new Date(nowMs + hourMs).toISOString();
    const { id } = sampleTask();
    const placedFile = (key: string, bytes: Uint8Array) => {
      const { byteLength: size } = bytes;
      return {
        id: key,
        size,
        sha256: sha256(bytes),
        url: `https://files.example/${id}/${key}`,
        expires_at,
      };
    };
    expect(attachments).toEqual([
      { name: "a.png", mimetype: "image/png", ...placedFile("F1", png) },
      { name: "b.txt", mimetype: "application/pdf", ...placedFile("F2", pdf) },
    ]);
    for (const attachment of attachments) attachmentSchema.parse(attachment);
    expect(authorizations()).toEqual(["Bearer xoxb-of-t1", "Bearer xoxb-of-t1"]);
  });

  it("stores the same files under the same names when it runs again", async () => {
    expect(await importAttachments([file()])).toEqual(await importAttachments([file()]));
    expect(storeRequests.map(({ key }) => key)).toEqual([
      `${sampleTask().id}/F1`,
      `${sampleTask().id}/F1`,
    ]);
  });

  it("does not even read the token if a message has no files", async () => {
    expect(await importAttachments(undefined, { token: unexpected })).toEqual([]);
    expect(await importAttachments([], { token: unexpected })).toEqual([]);
  });

  it("keeps files readable until the deadline of the task, and for at most a day", async () => {
    await importAttachments(
      [file()],
      {},
      { call: sampleCall({ deadlineAtMs: nowMs + 8 * hourMs }) },
    );
    await importAttachments(
      [file()],
      {},
      { call: sampleCall({ deadlineAtMs: nowMs + 48 * hourMs }) },
    );
    expect(storeRequests.map(({ expiresAtMs }) => expiresAtMs - nowMs)).toEqual([
      8 * hourMs,
      24 * hourMs,
    ]);
  });

  it("refuses files if one is larger than allowed, whatever size Slack reports", async () => {
    answer = () => new Response("x".repeat(1001));
    const files = [file({ name: "big.txt", mimetype: "text/plain", size: 1 })];
    const refusal = { type: "file_refused", why: "too_large", name: "big.txt", most: 1000 };
    expect(await refusalOf(importAttachments(files))).toEqual(refusal);
    answer = () => new Response(png);
    expect(await importAttachments([file({ size: 1_000_000 })])).toHaveLength(1);
  });

  it("refuses too many files before it fetches any", async () => {
    const files = [file(), file({ id: "F2", name: "second.png" }), file({ id: "F3" })];
    const refusal = { type: "file_refused", why: "too_many", name: "second.png", most: 1 };
    expect(await refusalOf(importAttachments(files, { maxCount: 1 }))).toEqual(refusal);
    expect(await refusalOf(importAttachments([file()], { maxCount: 0 }))).toMatchObject({
      why: "too_many",
      most: 0,
    });
    expect(authorizations()).toEqual([]);
  });

  it.each([
    ["is outside Slack", { url: undefined }],
    ["has a foreign address", { url: "https://files.example/a.png" }],
    ["has an id of another form than Slack's", { id: "../F1" }],
  ])("refuses all files before any request if one %s", async (_what, changes) => {
    const refusal = await refusalOf(importAttachments([file({ name: "a\u0000.png", ...changes })]));
    expect(refusal).toEqual({ type: "file_refused", why: "not_to_be_had", name: "a.png" });
    expect(authorizations()).toEqual([]);
  });

  it("refuses a list of Slack and names its kind", async () => {
    const list = file({ name: "Plan", mimetype: "application/vnd.slack-list", url: undefined });
    const refusal = await refusalOf(importAttachments([list]));
    expect(refusal).toEqual({
      type: "file_refused",
      why: "not_to_be_had",
      name: "Plan",
      detail: "list",
    });
    expect(authorizations()).toEqual([]);
  });

  it("refuses a sign-in page instead of storing it as a file", async () => {
    tokens.T1 = "xoxb-withdrawn";
    try {
      expect(await refusalOf(importAttachments([file()]))).toMatchObject({
        why: "not_to_be_had",
        name: "a.png",
      });
    } finally {
      tokens.T1 = "xoxb-of-t1";
    }
    expect(storeRequests).toEqual([]);
    expect(lines.map((line) => JSON.parse(line).reason)).toEqual(["not_to_be_had"]);
    expect(lines.join("")).not.toMatch(/a\.png|xoxb/);
  });

  it("fetches files with the token of the installation that received the message", async () => {
    answer = () => new Response(png);
    const task = taskWith([file()]);
    const grid = { ...task, message: { ...task.message, team: "T9", enterprise: "E1" } };
    const token = async ({ enterprise = "" }: Installation) => tokens[enterprise] ?? "";
    await filesWith({ token }).importAttachments({
      task: grid,
      signal: new AbortController().signal,
    });
    expect(authorizations()).toEqual(["Bearer xoxb-of-e1"]);
  });

  it("fetches files again once with a newer token if Slack refuses the cached one", async () => {
    const triedTokens: string[] = [];
    const newerToken = async (request: { tried: string }) => {
      triedTokens.push(request.tried);
      return "xoxb-of-t1";
    };
    const token = async () => "xoxb-rotated";
    expect(await importAttachments([file()], { token, newerToken })).toHaveLength(1);
    expect(authorizations()).toEqual(["Bearer xoxb-rotated", "Bearer xoxb-of-t1"]);
    expect(triedTokens).toEqual(["xoxb-rotated"]);
    answer = () => new Response(null, { status: 403 });
    expect(await refusalOf(importAttachments([file()], { token, newerToken }))).toMatchObject({
      why: "not_to_be_had",
    });
    expect(authorizations()).toHaveLength(4);
    const rejectToken = () => Promise.reject(new Error("no secret"));
    const refusal = await refusalOf(importAttachments([file()], { newerToken: rejectToken }));
    expect(refusal).toMatchObject({ why: "not_to_be_had" });
  });

  it("reports a retryable error if Slack, the store or the token is unavailable", async () => {
    const away = { put: () => Promise.reject(new Error("no store")) };
    const noToken = () => Promise.reject(new Error("no secret"));
    for (const options of [{ store: away }, { token: noToken }]) {
      const tokenFailure = { name: "SlackError", kind: "unavailable" };
      await expect(importAttachments([file()], options)).rejects.toMatchObject(tokenFailure);
    }
    const goneError = new SlackError("gone", { slackError: "account_inactive" });
    await expect(
      importAttachments([file()], { token: () => Promise.reject(goneError) }),
    ).rejects.toBe(goneError);
    answer = () => new Response("slow down", { status: 429, headers: { "retry-after": "3" } });
    await expect(importAttachments([file()])).rejects.toMatchObject({
      kind: "rate_limited",
      retryAfterMs: 3000,
    });
  });

  it("stops fetching when one file is refused or the worker gives up", async () => {
    const hungUp = Promise.withResolvers<void>();
    const downloadStart = Promise.withResolvers<void>();
    answer = ({ request, target }) => {
      if (target.endsWith("F2"))
        return downloadStart.promise.then(() => new Response(null, { status: 404 }));
      request.signal.addEventListener("abort", () => hungUp.resolve());
      downloadStart.resolve();
      return new Promise(() => {});
    };
    const files = [file(), file({ id: "F2", name: "gone.png" })];
    const refusal = refusalOf(importAttachments(files, { transferTimeoutMs: 60_000 }));
    expect(await refusal).toMatchObject({ name: "gone.png" });
    await hungUp.promise;

    const { signal } = new AbortController();
    const givenSignal = AbortSignal.any([signal, AbortSignal.timeout(30)]);
    answer = () => new Promise(() => {});
    const bringing = filesWith().importAttachments({
      task: taskWith([file()]),
      signal: givenSignal,
    });
    await expect(bringing).rejects.toMatchObject({ name: "SlackError", kind: "unavailable" });
  });
});

const { signal } = new AbortController();

/** A fake Slack, and both zones of one machine that pass files on. */
async function openBoth() {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-both-ways-"));
  closeAfterTest({ close: () => rmSync(folder, { recursive: true, force: true }) });
  const fakeSlack = closeAfterTest(
    await startFakeSlack({ signingSecret: "shh", botToken: "xoxb-right" }),
  );
  const store = closeAfterTest(
    openFileStore({ folder: join(folder, "files"), baseUrl: () => server.url }),
  );
  const server: VerificationServer = closeAfterTest(
    await startVerificationServer({
      ingress: async () => ({ status: 404, headers: {}, body: "" }),
      page: (request, response) => store.page(request, response),
      port: 0,
    }),
  );
  return { fakeSlack, store, server };
}

type Both = Awaited<ReturnType<typeof openBoth>>;

function filesOver({ fakeSlack, store }: Both, { botToken = "xoxb-right" } = {}) {
  const tokens = createBotTokens({ botToken: async () => botToken });
  return createFiles({
    slack: createSlackApi({ tokens, apiUrl: fakeSlack.apiUrl, log: silentLog }),
    token: tokens.tokenOf,
    newerToken: tokens.readNewerToken,
    apiUrl: fakeSlack.apiUrl,
    store,
    publicFetch: () => createPublicFetch(),
    maxBytes: 1000,
    maxCount: 5,
  });
}

async function askedTask({ fakeSlack }: Both) {
  const { url, received: requests } = await serve(() => new Response());
  const files = [{ name: "dot.txt", mimetype: "text/plain", bytes: png }];
  await fakeSlack.ask({ eventsUrl: url, text: "What is in it?", files }).delivered;
  const { event } = JSON.parse(Buffer.from(requests[0]?.body ?? []).toString());
  return taskWith(readUserFiles(event.files));
}

describe("a file with only an id", () => {
  const stub: UserFile = {
    id: "F1",
    name: "F1",
    mimetype: "application/octet-stream",
    size: 0,
    isStub: true,
  };

  it("looks up a file that has only an id and sends it like any other", async () => {
    const fileInfo = async ({ file: id }: { file: string }) => file({ id });
    const [attachment] = await importAttachments([stub], { fileInfo });
    expect(attachment).toMatchObject({ id: "F1", name: "a.png", mimetype: "image/png" });
  });

  it.each([
    [
      "Slack refuses it",
      async () => Promise.reject(new SlackError("gone", { slackError: "access_denied" })),
    ],
    [
      "it is gone",
      async () => Promise.reject(new SlackError("refused", { slackError: "file_not_found" })),
    ],
    ["Slack returns no description", async () => undefined],
  ])("refuses a file with only an id if %s", async (_why, fileInfo) => {
    const refusal = await refusalOf(importAttachments([stub], { fileInfo }));
    expect(refusal).toMatchObject({ why: "not_to_be_had", detail: "hidden" });
  });

  it("refuses a file whose description has no address either, after one look-up", async () => {
    const fetchCount: string[] = [];
    const fileInfo = async ({ file: id }: { file: string }) => {
      fetchCount.push(id);
      return { ...stub, name: "plan.csv" };
    };
    expect(await refusalOf(importAttachments([stub], { fileInfo }))).toMatchObject({
      name: "plan.csv",
    });
    expect(fetchCount).toEqual(["F1"]);
  });

  it.each(["rate_limited", "unavailable", "ambiguous"] as const)(
    "retries the lookup of a file after %s",
    async (kind) => {
      const fileInfo = () => Promise.reject(new SlackError(kind));
      await expect(importAttachments([stub], { fileInfo })).rejects.toMatchObject({ kind });
    },
  );
});

describe("optional files", () => {
  function importFurther(
    files: UserFile[],
    own: UserFile[] = [],
    options: Parameters<typeof filesWith>[0] = {},
  ) {
    const { signal } = new AbortController();
    return filesWith(options).importFurtherFiles({ task: taskWith(own), files, signal });
  }

  it("attaches optional files in order as far as they fit beside the files of the message", async () => {
    const files = ["F2", "F3", "F4"].map((id) => file({ id }));
    const { attachments, leftOut } = await importFurther(files, [file()], { maxCount: 3 });
    expect([attachments.map(({ id }) => id), leftOut.map(({ id }) => id)]).toEqual([
      ["F2", "F3"],
      ["F4"],
    ]);
  });

  it("leaves out optional files that are unreadable, too large or unavailable", async () => {
    answer = ({ target }) => {
      if (target.endsWith("F2")) return new Response(null, { status: 404 });
      if (target.endsWith("F3")) return new Response(new Uint8Array(2000));
      if (target.endsWith("F4")) return new Response(null, { status: 503 });
      return new Response(png);
    };
    const { attachments, leftOut } = await importFurther(
      ["F2", "F3", "F4", "F5"].map((id) => file({ id })),
    );
    expect([attachments.map(({ id }) => id), leftOut.map(({ id }) => id)]).toEqual([
      ["F5"],
      ["F2", "F3", "F4"],
    ]);
    const token = () => Promise.reject(new SlackError("gone"));
    expect(await importFurther([file()], [], { token })).toMatchObject({
      attachments: [],
      leftOut: [{ id: "F1" }],
    });
  });

  it("limits the time for optional files to a part of the time until the deadline", async () => {
    answer = ({ request }) =>
      new Promise((_, reject) => request.signal.addEventListener("abort", reject));
    const files = ["F1", "F2"].map((id) => file({ id }));
    const task = taskWith([], { call: sampleCall({ deadlineAtMs: nowMs + 400 }) });
    const { leftOut } = await filesWith().importFurtherFiles({
      task,
      files,
      signal: new AbortController().signal,
    });
    expect([leftOut.map(({ id }) => id), slack.received.length]).toEqual([["F1", "F2"], 1]);
  });

  it("does not mention optional files if no files are accepted", async () => {
    expect(await importFurther([file()], [], { maxCount: 0 })).toEqual({
      attachments: [],
      leftOut: [],
    });
  });
});

describe("a canvas", () => {
  const canvas = () => file({ name: "Plan", mimetype: "application/vnd.slack-docs" });

  it("sends a canvas as a Markdown file without fetching its page", async () => {
    const [attachment] = await importAttachments([canvas()], {
      canvasContent: async () => "# Plan\n",
    });
    expect(attachment).toMatchObject({
      id: "F1",
      name: "Plan.md",
      mimetype: "text/markdown",
      size: 7,
    });
    expect(Buffer.from(storeRequests[0]?.bytes ?? []).toString()).toBe("# Plan\n");
    expect(slack.received).toEqual([]);
  });

  it.each([
    ["missing_scope", "gone", "canvas"],
    ["unknown_method", "refused", "canvas"],
    ["canvas_not_found", "refused", "hidden"],
    ["access_denied", "gone", "hidden"],
  ] as const)("refuses a canvas if Slack says %s", async (slackError, kind, detail) => {
    const canvasContent = () => Promise.reject(new SlackError(kind, { slackError }));
    expect(await refusalOf(importAttachments([canvas()], { canvasContent }))).toMatchObject({
      detail,
      name: "Plan",
    });
  });

  it("refuses a canvas above the size limit of a file", async () => {
    const canvasContent = async () => "a".repeat(1001);
    expect(await refusalOf(importAttachments([canvas()], { canvasContent }))).toMatchObject({
      why: "too_large",
    });
  });
});

describe("a file that a person attaches", () => {
  it("delivers an attached file to the agent unchanged and without a token of Slack", async () => {
    const both = await openBoth();
    const task = await askedTask(both);
    const [attachment, ...others] = await filesOver(both).importAttachments({ task, signal });
    expect(others).toEqual([]);
    if (attachment === undefined) throw new Error("unreachable");
    expect(attachment).toMatchObject({
      name: "dot.txt",
      mimetype: "image/png",
      size: png.byteLength,
    });
    const publicFetch = createLocalAttachmentFetch({ verificationPort: () => both.server.port });
    const readSettings = createReadAttachment({ publicFetch, signal, log: silentLog });
    const bytes = await readSettings({ attachment });
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(attachment.sha256);
    expect(Buffer.from(bytes)).toEqual(Buffer.from(png));
  });
});

describe("the concurrency limit", () => {
  it("runs a limited number of operations at once, in order, also after failures", async () => {
    const limit = createConcurrencyLimit({ max: 2 });
    const order: string[] = [];
    let atOnce = 0;
    const work = async (name: string) => {
      atOnce += 1;
      expect(atOnce).toBeLessThanOrEqual(2);
      order.push(name);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
      if (name === "b") throw new Error("failed");
    };
    const names = ["a", "b", "c", "d", "e"];
    const results = await Promise.allSettled(
      names.map((name) => limit.take({ signal, work: () => work(name) })),
    );
    expect(order).toEqual(names);
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  });

  it("gives the place of an aborted caller to the next one", async () => {
    const limit = createConcurrencyLimit({ max: 1 });
    const first = Promise.withResolvers<void>();
    const holder = limit.take({ signal, work: () => first.promise });
    const impatient = new AbortController();
    const lateTransfer = limit.take({ signal: impatient.signal, work: async () => "never" });
    const next = limit.take({ signal, work: async () => "next" });
    impatient.abort(new Error("gone"));
    await expect(lateTransfer).rejects.toThrow("gone");
    first.resolve();
    await holder;
    expect(await next).toBe("next");
    expect(await limit.take({ signal, work: async () => "later" })).toBe("later");
  });
});
