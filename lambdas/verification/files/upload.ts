/** Uploads the files of an answer to Slack, where they stay invisible until they are shared. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import { dataBytes, type OutgoingFile } from "../slack/messages/answer-files.ts";
import { transfersEndAtMs } from "../task/delivering.ts";
import { installationOf, type Task } from "../task/task.ts";
import { FetchTimedOut, FileRefused, type Files, safeFileName } from "./files.ts";

type UploadOptions = {
  slack: Pick<SlackApi, "startUpload" | "sendUpload">;
  publicFetch: (task: Task) => PublicFetch;
  maxBytes: number;
  fetchTimeoutMs: number;
  now: () => number;
  log: Log;
};

/** A task and the files of its answer. */
type AnswerFiles = { task: Task; files: readonly OutgoingFile[] };

/** After this many fetches from a host that timed out, the answer's other files of the host are not fetched. */
const maxTimeoutsPerHost = 2;

/** An upload with an unknown outcome can safely start over, because nobody sees a file that was never shared. */
export function createUpload(options: UploadOptions): Pick<Files, "isFetched" | "upload"> {
  const { slack, publicFetch, maxBytes, fetchTimeoutMs, now, log } = options;

  /** False if the answer's time for transfers is over, or if the file's host has timed out too often. */
  function mayFetch({ task, files, url }: AnswerFiles & { url: string }): boolean {
    if (now() >= transfersEndAtMs(task)) return false;
    const timeouts = task.outcome?.type === "answer" ? (task.outcome.fetchTimeouts ?? []) : [];
    const host = hostOf({ url });
    return (
      timeouts.filter((index) => hostOf(files[index]?.content) === host).length < maxTimeoutsPerHost
    );
  }

  async function readBytes(
    request: AnswerFiles & { content: OutgoingFile["content"]; signal: AbortSignal },
  ) {
    const { task, files, content, signal } = request;
    if ("text" in content) return Buffer.from(content.text, "utf8");
    if ("base64" in content) return Buffer.from(content.base64, "base64");
    if ("data" in content) return dataBytes(content.data);
    if (!mayFetch({ task, files, url: content.url })) return undefined;
    // Two time-outs of a host leave some time for the files of others.
    const timeoutMs = Math.min(fetchTimeoutMs, Math.ceil((transfersEndAtMs(task) - now()) / 2));
    return publicFetch(task)({ url: content.url, maxBytes, timeoutMs, signal });
  }

  return {
    isFetched({ task, index }) {
      const files = createOutgoingFiles(task);
      const content = files[index]?.content;
      return (
        content !== undefined && "url" in content && mayFetch({ task, files, url: content.url })
      );
    },
    async upload({ task, index, signal }) {
      const files = createOutgoingFiles(task);
      const file = files[index];
      const name = safeFileName(file?.name ?? "");
      const refuse = (why: "too_large" | "not_to_be_had", cause?: unknown) => {
        log.info("file_refused", {
          request_id: task.id,
          trace_id: readTraceId(task.trace),
          reason: why,
        });
        return new FileRefused(
          { why, name, ...(why === "too_large" ? { most: maxBytes } : {}) },
          { cause },
        );
      };
      if (file === undefined) throw refuse("not_to_be_had");
      try {
        const bytes = await readBytes({ task, files, content: file.content, signal });
        if (bytes === undefined) throw refuse("not_to_be_had");
        if (bytes.byteLength > maxBytes) throw refuse("too_large");
        const call = { installation: installationOf(task), requestId: task.id, signal };
        const { fileId, url } = await slack.startUpload({
          ...call,
          name,
          length: bytes.byteLength,
        });
        await slack.sendUpload({ ...call, url, bytes });
        return { fileId };
      } catch (error) {
        throw toFailure(error, refuse);
      }
    },
  };
}

function hostOf(content: OutgoingFile["content"] | undefined): string | undefined {
  return content !== undefined && "url" in content ? parseUrl(content.url)?.host : undefined;
}

/** Turns a refusal by Slack, such as a missing permission, into a refusal of this file, so that the answer's text is still posted. */
function toFailure(
  error: unknown,
  refuse: (why: "too_large" | "not_to_be_had", cause: unknown) => FileRefused,
): Error {
  if (error instanceof FileRefused) return error;
  if (error instanceof SlackError) {
    const isTransient = ["rate_limited", "unavailable", "ambiguous"].includes(error.kind);
    return isTransient ? error : refuse("not_to_be_had", error);
  }
  if (isTimeout(error)) return new FetchTimedOut({ cause: error });
  const reason = error instanceof SekishoError ? error.reason : "unavailable";
  if (reason === "payload_too_large") return refuse("too_large", error);
  const isPermanent = reason === "permission_denied" || reason === "invalid_response";
  return isPermanent
    ? refuse("not_to_be_had", error)
    : new SlackError("unavailable", { cause: error });
}

/** True for the error with which a PublicFetch says that the time is over. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof SekishoError)) return false;
  return error.cause instanceof DOMException && error.cause.name === "TimeoutError";
}
