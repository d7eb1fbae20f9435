/** Files of a message on their way in: from Slack, with the bot token, to where the Execution zone can read them without it. */

import { createHash } from "node:crypto";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import { traceIdOf } from "../../shared/trace.ts";
import { SlackError } from "../slack/api/slack.ts";
import type { AskedFile, Installation } from "../task/messages.ts";
import { installationOf, type Task } from "../task/task.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { Download } from "./download.ts";
import { fetchFile, type NewerToken } from "./fetch-file.ts";
import { type FileStore, fileIdPattern, fileLifeMs } from "./file-store.ts";
import { FileRefused, type Files, safeFileName } from "./files.ts";

type Attachment = Awaited<ReturnType<Files["importAttachments"]>>[number];

export type BringInOptions = {
  download: Download;
  store: FileStore;
  token: (installation: Installation) => Promise<string>;
  newerToken: NewerToken;
  turns: ConcurrencyLimit;
  maxBytes: number;
  maxCount: number;
  lifeMs: number;
  now: () => number;
  log: Log;
};

/** All of them, or none: the first that cannot be had ends the work on the others. */
export function createBringIn(options: BringInOptions): Files["importAttachments"] {
  const { download, store, newerToken, turns, maxBytes, maxCount, lifeMs, now, log } = options;

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

  async function fetched({
    task,
    file,
    token,
    signal,
  }: {
    task: Task;
    file: AskedFile;
    token: string;
    signal: AbortSignal;
  }) {
    const installation = installationOf(task);
    // The id becomes part of a name: Slack's own ids can.
    const got = fileIdPattern.test(file.id)
      ? await fetchFile({ file, installation, token, newerToken, download, maxBytes, signal })
      : { refused: "not_to_be_had" as const };
    if (!("refused" in got)) return got;
    log.info("file_refused", { request_id: task.id, trace_id: traceIdOf(task.trace), reason: got.refused });
    throw refusal(file, { why: got.refused, ...(got.refused === "too_large" ? { most: maxBytes } : {}) });
  }

  async function bringOne(request: { task: Task; file: AskedFile; token: string; signal: AbortSignal }) {
    const { task, file, signal } = request;
    const { bytes, mimetype } = await fetched(request);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const nowMs = now();
    const wantedMs = Math.min(Math.max(nowMs + lifeMs, task.call?.deadlineAtMs ?? 0), nowMs + fileLifeMs);
    const key = `${task.id}/${file.id}`;
    const kept = store.put({ key, bytes, mimetype, sha256, expiresAtMs: wantedMs, signal });
    const { url, expiresAtMs } = await kept.catch((cause: unknown) => {
      const kind = errorKind(cause);
      const ids = { request_id: task.id, trace_id: traceIdOf(task.trace) };
      if (!signal.aborted) log.warn("file_not_stored", { ...ids, cause_kind: kind });
      throw new SlackError("unavailable", { cause });
    });
    const size = bytes.byteLength;
    const expires_at = new Date(expiresAtMs).toISOString();
    return { id: file.id, name: safeFileName(file.name), mimetype, size, url, sha256, expires_at } satisfies Attachment;
  }
}

function refusal(file: AskedFile, outcome: { why: "too_large" | "too_many" | "not_to_be_had"; most?: number }) {
  return new FileRefused({ ...outcome, name: safeFileName(file.name) });
}
