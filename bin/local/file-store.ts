/** Files of messages on one machine: in a folder, served by the Verification zone's server to whoever has a signed URL. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Log, silentLog } from "../../lambdas/shared/log.ts";
import { type FileStore, fileLifeMs } from "../../lambdas/verification/files/file-store.ts";
import type { Page } from "../../lambdas/verification/ingress/server.ts";
import { createFilePage, pathOf } from "./file-store-page.ts";
import { openFileSigner } from "./file-store-signer.ts";
import { sweepFiles } from "./file-store-sweep.ts";

const sweepEveryMs = 3600_000;

export type LocalFileStore = FileStore & {
  /** Answers what is below `/files/`. */
  page: Page;
  close(): void;
};

/**
 * All that is made is private to the user who runs it. What is older than a day goes, at the start and then every hour.
 * `baseUrl` is of the server, which may not listen yet; URLs outlive a restart where that comes back to the same port.
 */
export function openFileStore({
  folder,
  baseUrl,
  now = Date.now,
  log = silentLog,
}: {
  folder: string;
  baseUrl: () => string;
  now?: () => number;
  log?: Log;
}): LocalFileStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const signer = openFileSigner({ folder });
  const sweep = () =>
    sweepFiles({ folder, olderThanMs: now() - fileLifeMs }).catch((thrown: unknown) => {
      log.warn("files_not_swept", { cause_kind: thrown instanceof Error ? thrown.name : typeof thrown });
    });
  void sweep();
  const timer = setInterval(sweep, sweepEveryMs).unref();

  return {
    async put({ key, bytes, expiresAtMs: wantedMs, signal }) {
      const file = join(folder, key);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeWhole({ file, bytes, signal });
      const expiresAtMs = Math.min(wantedMs, now() + fileLifeMs);
      return { url: new URL(`${pathOf(key)}?${signer.sign({ key, expiresAtMs })}`, baseUrl()).href, expiresAtMs };
    },
    page: createFilePage({ folder, signer, now }),
    close: () => clearInterval(timer),
  };
}

/** Whoever reads meanwhile reads the old bytes or the new ones. */
async function writeWhole({ file, bytes, signal }: { file: string; bytes: Uint8Array; signal: AbortSignal }) {
  const part = `${file}.${randomUUID()}.part`;
  try {
    await writeFile(part, bytes, { mode: 0o600, flag: "wx", signal });
    await rename(part, file);
  } catch (thrown) {
    await rm(part, { force: true });
    throw thrown;
  }
}
