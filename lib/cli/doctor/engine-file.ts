/** Checks of a zone's sqlite file. They use the store and the queue without affecting a running zone. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { type Database, openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import {
  createSqliteQueue,
  createSqliteTaskStore,
} from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { EngineFileError, toFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import { parseStored } from "../tasks/stored-task.ts";
import { type Check, failed, ok } from "./check.ts";

/** Reading every page of a larger file takes too long. */
const maxCheckedBytes = 256 * 1024 * 1024;
/** A running zone holds its lock for about a millisecond. */
const busyTimeoutMs = 1000;

/** If the file does not exist yet, the check creates and deletes one in `folder`, which exists. */
type EngineFile = { file: string; folder: string };

export function storeCheck({ file, folder }: EngineFile): Check {
  return {
    name: `store ${basename(file)}`,
    run: () =>
      withDatabase({ file, folder }, async (database, isNew) => {
        if (!isNew && statSync(file).size <= maxCheckedBytes && isDamaged(database)) {
          return failed(
            `${file} is damaged.`,
            "Stop the zones, then restore the file from a copy or move it away.",
          );
        }
        const found = await createSqliteTaskStore({ database, parse: parseStored }).get({
          id: randomUUID(),
        });
        if (found !== undefined)
          return failed(
            "It answers with a record that nobody stored.",
            `Check that ${file} is a file of Sekisho.`,
          );
        return ok(isNew ? `There is no ${file} yet; it can be created.` : `${file} can be read.`);
      }),
  };
}

/** Sends, receives and finishes a message. The queue's name is random, so that no zone receives it. */
export function queueCheck({ file, folder }: EngineFile): Check {
  return {
    name: `queue ${basename(file)}`,
    run: (signal) =>
      withDatabase({ file, folder }, async (database) => {
        const queue = createSqliteQueue({ database, name: `doctor-${randomUUID()}` });
        await queue.send({ body: "{}" });
        const [message] = await queue.receive({
          max: 1,
          visibilityTimeoutMs: 30_000,
          waitMs: 1000,
          signal,
        });
        const isFinished =
          message !== undefined && (await queue.finish({ receipt: message.receipt }));
        if (isFinished) return ok("A message was sent, received and finished.");
        return failed(
          "A message was sent and did not arrive.",
          "Use a local disk, because sqlite needs its file locks.",
        );
      }),
  };
}

async function withDatabase<T>(
  { file, folder }: EngineFile,
  work: (database: Database, isNew: boolean) => Promise<T>,
): Promise<T> {
  const isNew = !existsSync(file);
  const ownFolder = isNew ? openFolder(folder) : undefined;
  try {
    const database = openDatabase({
      file: ownFolder === undefined ? file : join(ownFolder, "new.db"),
      busyTimeoutMs,
    });
    try {
      return await work(database, isNew);
    } catch (error) {
      throw toFileError({ error, file }) ?? error;
    } finally {
      await database.close();
    }
  } finally {
    if (ownFolder !== undefined) rmSync(ownFolder, { recursive: true, force: true });
  }
}

function openFolder(folder: string): string {
  try {
    return mkdtempSync(join(folder, ".doctor-"));
  } catch (cause) {
    const message = `${folder} cannot be written. Give write access to the user who runs sekisho.`;
    throw new EngineFileError(message, { cause });
  }
}

function isDamaged(database: Database): boolean {
  try {
    return database.prepare("PRAGMA quick_check(1)").get()?.quick_check !== "ok";
  } catch {
    // sqlite reports some damage by throwing.
    return true;
  }
}
