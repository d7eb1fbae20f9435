/** Files of a message on their way in: from Slack, with the bot token, to where the Execution zone can read them without it. */
import { createHash } from "node:crypto";
import type { Log } from "../../shared/log.ts";
import { type Installation, SlackError } from "../slack/slack.ts";
import type { AskedFile } from "../task/messages.ts";
import { installationOf, type Task } from "../task/task.ts";
import type { Download } from "./download.ts";
import { isSignInPage, mimetypeOf } from "./file-kind.ts";
import { type FileStore, fileIdPattern, fileLifeMs } from "./file-store.ts";
import { FileRefused, type Files } from "./files.ts";
import { safeFileName } from "./safe-name.ts";
import type { Turns } from "./turns.ts";

type Attachment = Awaited<ReturnType<Files["bringIn"]>>[number];

export type BringInOptions = {
  download: Download;
  store: FileStore;
  token: (installation: Installation) => Promise<string>;
  turns: Turns;
  maxBytes: number;
  maxCount: number;
  lifeMs: number;
  now: () => number;
  log: Log;
};

/** All of them, or none: the first that cannot be had ends the work on the others. */
export function createBringIn(options: BringInOptions): Files["bringIn"] {
  const { store, turns, maxCount, lifeMs, now, log } = options;

  return async ({ task, signal }) => {
    const { files = [] } = task.message;
    const [surplus] = files.slice(maxCount);
    if (surplus !== undefined) throw refusal(surplus, { why: "too_many", most: maxCount });
    if (files.length === 0) return [];
    const token = await tokenFor(task);
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const bring = (file: AskedFile) =>
      turns.take({ signal: either, work: () => bringOne({ task, file, token, signal: either }) });
    try {
      return await Promise.all(files.map(bring));
    } catch (thrown) {
      failed.abort();
      throw thrown instanceof FileRefused || thrown instanceof SlackError
        ? thrown
        : new SlackError("unavailable", { cause: thrown });
    }
  };

  async function tokenFor(task: Task): Promise<string> {
    try {
      return await options.token(installationOf(task));
    } catch (thrown) {
      throw thrown instanceof SlackError ? thrown : new SlackError("unavailable", { cause: thrown });
    }
  }

  async function bringOne(request: { task: Task; file: AskedFile; token: string; signal: AbortSignal }) {
    const { task, file, signal } = request;
    const { bytes, mimetype } = await fetchFile({ ...options, ...request });
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const nowMs = now();
    const wantedMs = Math.min(Math.max(nowMs + lifeMs, task.deadlineAtMs ?? 0), nowMs + fileLifeMs);
    const key = `${task.id}/${file.id}`;
    const kept = store.put({ key, bytes, mimetype, sha256, expiresAtMs: wantedMs, signal });
    const { url, expiresAtMs } = await kept.catch((cause: unknown) => {
      const kind = cause instanceof Error ? cause.name : typeof cause;
      if (!signal.aborted) log.warn("file_not_stored", { request_id: task.id, cause_kind: kind });
      throw new SlackError("unavailable", { cause });
    });
    const size = bytes.byteLength;
    const expires_at = new Date(expiresAtMs).toISOString();
    return { id: file.id, name: safeFileName(file.name), mimetype, size, url, sha256, expires_at } satisfies Attachment;
  }
}

async function fetchFile({
  task,
  file,
  token,
  signal,
  download,
  maxBytes,
  log,
}: Pick<BringInOptions, "download" | "maxBytes" | "log"> & {
  task: Task;
  file: AskedFile;
  token: string;
  signal: AbortSignal;
}): Promise<{ bytes: Uint8Array; mimetype: string }> {
  const { url, name, mimetype: said } = file;
  const refuse = (why: "too_large" | "not_to_be_had") => {
    log.info("file_refused", { request_id: task.id, reason: why });
    return refusal(file, why === "too_large" ? { why, most: maxBytes } : { why });
  };
  if (url === undefined || !fileIdPattern.test(file.id)) throw refuse("not_to_be_had");
  const got = await download({ url, token, maxBytes, signal });
  if ("refused" in got) throw refuse(got.refused);
  const { bytes, contentType } = got;
  if (isSignInPage({ bytes, contentType, said, name })) throw refuse("not_to_be_had");
  return { bytes, mimetype: await mimetypeOf({ bytes, said }) };
}

function refusal(file: AskedFile, outcome: { why: "too_large" | "too_many" | "not_to_be_had"; most?: number }) {
  return new FileRefused({ ...outcome, name: safeFileName(file.name) });
}
