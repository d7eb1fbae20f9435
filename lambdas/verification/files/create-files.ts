/** Creates the worker's file transfers: from Slack's messages to the agent, and from the agent's answers to Slack. */
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import type { PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import { createShare } from "../slots.ts";
import type { Installation } from "../task/messages.ts";
import type { Task } from "../task/task.ts";
import { createDownload, createImports, type NewerToken } from "./attachments.ts";
import type { FileStore, Files } from "./files.ts";
import { createUpload } from "./upload.ts";

/** The limit for all files in memory together. A file may be in memory twice, and the worker function has 512 MB. */
const maxHeldBytes = 64 * 1024 * 1024;

/**
 * `maxBytes` and `maxCount` come from `files` in the configuration. `publicFetch` fetches the artifacts that a task's agent gives
 * by URL.
 */
export function createFiles(options: {
  slack: Pick<SlackApi, "fileInfo" | "canvasContent" | "startUpload" | "sendUpload">;
  /** The bot token of an installation. */
  token: (installation: Installation) => Promise<string>;
  newerToken?: NewerToken;
  apiUrl: string;
  store: FileStore;
  publicFetch: (task: Task) => PublicFetch;
  maxBytes: number;
  maxCount: number;
  /** The limit for one file, from Slack or from an agent's URL. */
  transferTimeoutMs?: number;
  now?: () => number;
  log?: Log;
}): Files {
  const settings = { newerToken: async () => undefined, now: Date.now, log: silentLog, ...options };
  const { apiUrl, maxBytes, now, transferTimeoutMs = 30_000 } = settings;
  const transfers = createShare({ max: Math.max(1, Math.floor(maxHeldBytes / maxBytes)) });
  const download = createDownload({ apiUrl, timeoutMs: transferTimeoutMs, now });
  return {
    transfers,
    ...createImports({ ...settings, download, transfers }),
    ...createUpload({ ...settings, fetchTimeoutMs: transferTimeoutMs }),
  };
}
