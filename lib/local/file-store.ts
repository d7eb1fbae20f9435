/** Files of messages on one machine, in a folder. The Verification zone's server serves each to the holder of its signed URL. */

import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { mkdirSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { type FileStore, fileLifeMs } from "@sekisho/verification/files/files.ts";
import type { Page } from "@sekisho/verification/ingress/server.ts";
import { openKeyFile } from "./key-file.ts";

const sweepEveryMs = 3600_000;

export type LocalFileStore = FileStore & {
  /** Answers requests below `/files/`. */
  page: Page;
  close(): void;
};

type FileStoreOptions = { folder: string; baseUrl: () => string; now?: () => number; log?: Log };

/**
 * Everything that it writes is private to the user. It deletes files older than a day, at the start and then every hour.
 * `baseUrl` is the server's, which may not listen yet. URLs outlive a restart on the same port.
 */
export function openFileStore({
  folder,
  baseUrl,
  now = Date.now,
  log = silentLog,
}: FileStoreOptions): LocalFileStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const signer = openFileSigner({ folder });
  const sweep = () =>
    sweepFiles({ folder, olderThanMs: now() - fileLifeMs }).catch((error: unknown) => {
      log.warn("files_not_swept", { cause_kind: errorKind(error) });
    });
  void sweep();
  const timer = setInterval(sweep, sweepEveryMs).unref();

  return {
    async put({ key, bytes, expiresAtMs: wantedMs, signal }) {
      const file = join(folder, key);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeWhole({ file, bytes, signal });
      const expiresAtMs = Math.min(wantedMs, now() + fileLifeMs);
      return {
        url: new URL(`${prefix}${key}?${signer.sign({ key, expiresAtMs })}`, baseUrl()).href,
        expiresAtMs,
      };
    },
    page: createFilePage({ folder, signer, now }),
    close: () => clearInterval(timer),
  };
}

/** A reader gets the old bytes or the new bytes, never a mix. */
async function writeWhole({
  file,
  bytes,
  signal,
}: {
  file: string;
  bytes: Uint8Array;
  signal: AbortSignal;
}) {
  const part = `${file}.${randomUUID()}.part`;
  try {
    await writeFile(part, bytes, { mode: 0o600, flag: "wx", signal });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

const prefix = "/files/";
/** No other path reaches the disk: no dot, and one slash. */
const keyPattern = /^[A-Za-z0-9_-]{1,128}\/[A-Za-z0-9_-]{1,128}$/;

/**
 * Serves files as downloads, never as pages. Answers 403 for a URL that was not signed here or has expired, whether or not
 * the file exists.
 */
function createFilePage({
  folder,
  signer,
  now,
}: {
  folder: string;
  signer: FileSigner;
  now: () => number;
}): Page {
  return async (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (!url?.pathname.startsWith(prefix)) return false;
    const { pathname, searchParams: query } = url;
    const key = pathname.slice(prefix.length);
    if (request.method !== "GET" && request.method !== "HEAD")
      return refuse(response, 405, { allow: "GET, HEAD" });
    if (!keyPattern.test(key)) return refuse(response, 404);
    if (!signer.isValid({ key, query, nowMs: now() })) return refuse(response, 403);
    await serve({ file: join(folder, key), response, withBody: request.method === "GET" });
    return true;
  };
}

type Download = { file: string; response: ServerResponse; withBody: boolean };

async function serve({ file, response, withBody }: Download): Promise<void> {
  const handle = await open(file, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) {
    refuse(response, 404);
    return;
  }
  try {
    const { size } = await handle.stat();
    response.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": size,
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    if (!withBody) response.end();
    // A reader that hangs up is not an error.
    else
      await pipeline(handle.createReadStream({ autoClose: false }), response).catch(() =>
        response.destroy(),
      );
  } finally {
    await handle.close();
  }
}

function refuse(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { "cache-control": "no-store", "content-length": 0, ...headers });
  response.end();
  return true;
}

const keyBytes = 32;

type FileSigner = {
  /** The query of the URL. */
  sign(request: { key: string; expiresAtMs: number }): string;
  /** True if the URL was signed here and has not expired. */
  isValid(request: { key: string; query: URLSearchParams; nowMs: number }): boolean;
};

/** The key in the folder is created once, and outlives a restart. Throws if it cannot be read, or is not a key. */
function openFileSigner({ folder }: { folder: string }): FileSigner {
  const secret = openKey(join(folder, "signing.key"));
  const signature = (key: string, expires: string) =>
    createHmac("sha256", secret).update(`${key}\n${expires}`).digest("base64url");

  return {
    sign({ key, expiresAtMs }) {
      const expires = String(expiresAtMs);
      return new URLSearchParams({ expires, signature: signature(key, expires) }).toString();
    },
    isValid({ key, query, nowMs }) {
      const expires = query.get("expires") ?? "";
      const givenSignature = Buffer.from(query.get("signature") ?? "");
      const right = Buffer.from(signature(key, expires));
      return (
        givenSignature.length === right.length &&
        timingSafeEqual(givenSignature, right) &&
        nowMs < Number(expires)
      );
    },
  };
}

function openKey(file: string): Buffer {
  const key = openKeyFile({ file, create: () => randomBytes(keyBytes) });
  if (key.length !== keyBytes)
    throw new Error(`${file} is no signing key. Delete it; links to files then stop working.`);
  return key;
}

/** Deletes files that were last written before that time, and folders that are empty then. The signing key stays. */
async function sweepFiles({
  folder,
  olderThanMs,
}: {
  folder: string;
  olderThanMs: number;
}): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory())) {
    const inner = join(folder, entry.name);
    for (const name of await readdir(inner)) {
      const file = join(inner, name);
      // A partly written file may be gone by now.
      const fileStat = await stat(file).catch(() => undefined);
      if (fileStat !== undefined && fileStat.mtimeMs < olderThanMs) await rm(file, { force: true });
    }
    await removeIfEmpty(inner);
  }
}

/** A file that was just written keeps its folder. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(error.code ?? "")) throw error;
  });
}
