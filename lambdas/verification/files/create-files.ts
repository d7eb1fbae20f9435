/** Files as the worker uses them: in from Slack's messages, out to Slack's threads. */
import { type Log, silentLog } from "../../shared/log.ts";
import type { PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { Installation } from "../task/messages.ts";
import type { Task } from "../task/task.ts";
import { createDownload, createImportAttachments, type NewerToken } from "./attachments.ts";
import { createConcurrencyLimit } from "./concurrency-limit.ts";
import type { FileStore, Files } from "./files.ts";
import { createUpload } from "./upload.ts";

const hourMs = 3600_000;
/** What the files in hand may be together; each may be in memory twice, and a function of the worker has 512 MB. */
const maxHeldBytes = 64 * 1024 * 1024;

/**
 * `maxBytes` and `maxCount` are those of the configuration's `files`. The URL of an attachment works for `lifeMs`, and longer
 * where the task's own time is longer. `publicFetch` gets the artifacts that a task's agent names by address.
 */
export function createFiles({
  slack,
  token,
  newerToken = async () => undefined,
  apiUrl,
  store,
  publicFetch,
  maxBytes,
  maxCount,
  lifeMs = hourMs,
  transferTimeoutMs = 30_000,
  now = Date.now,
  log = silentLog,
}: {
  slack: Pick<SlackApi, "startUpload" | "sendUpload">;
  /** The bot token of an installation. */
  token: (installation: Installation) => Promise<string>;
  newerToken?: NewerToken;
  /** Of the Web API. */
  apiUrl: string;
  store: FileStore;
  publicFetch: (task: Task) => PublicFetch;
  maxBytes: number;
  maxCount: number;
  lifeMs?: number;
  /** For one file, from Slack or from an agent's address. */
  transferTimeoutMs?: number;
  now?: () => number;
  log?: Log;
}): Files {
  const turns = createConcurrencyLimit({ max: Math.max(1, Math.floor(maxHeldBytes / maxBytes)) });
  const download = createDownload({ apiUrl, timeoutMs: transferTimeoutMs, now });
  return {
    importAttachments: createImportAttachments({
      download,
      store,
      token,
      newerToken,
      turns,
      maxBytes,
      maxCount,
      lifeMs,
      now,
      log,
    }),
    upload: createUpload({ slack, publicFetch, turns, maxBytes, fetchTimeoutMs: transferTimeoutMs, log }),
  };
}
