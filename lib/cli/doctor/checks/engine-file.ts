/** The store and the queue of one sqlite file, each used once, in a way that a zone at work does not notice. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { type Database, openDatabase } from "../../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../../lambdas/shared/engine/sqlite/engine.ts";
import { EngineFileError, toFileError } from "../../../../lambdas/shared/engine/sqlite/file-error.ts";
import { parseStored } from "../../tasks/stored-task.ts";
import { type Check, failedFinding, okFinding } from "../check.ts";

/** Above this size a look at every page takes too long. */
const maxCheckedBytes = 256 * 1024 * 1024;
/** A zone that is at work holds its lock for about a millisecond. */
const busyTimeoutMs = 1000;
const visibilityTimeoutMs = 30_000;

type EngineFile = {
  /** Where there is none yet, one beside it is tried, and gone afterwards. */
  file: string;
  /** An existing one. */
  folder: string;
  newId?: () => string;
};

/** Can be opened, is not damaged, and answers. */
export function storeFile({ file, folder, newId = randomUUID }: EngineFile): Check {
  return {
    name: `store ${basename(file)}`,
    run: () =>
      withDatabase({ file, folder }, async (database, isNew) => {
        if (!isNew && statSync(file).size <= maxCheckedBytes && isDamaged(database)) {
          return failedFinding(`${file} is damaged.`, "Stop the zones, and restore it from a copy, or move it away.");
        }
        const found = await createSqliteTaskStore({ database, parse: parseStored }).get({ id: newId() });
        if (found !== undefined) return failedFinding("It has what it cannot have.", `Is ${file} of this program?`);
        return okFinding(isNew ? `There is no ${file} yet; one can be made.` : `${file} can be read.`);
      }),
  };
}

/** A message is sent, received and finished, on a queue of a name that nobody else knows. */
export function queueFile({ file, folder, newId = randomUUID }: EngineFile): Check {
  return {
    name: `queue ${basename(file)}`,
    run: ({ signal }) =>
      withDatabase({ file, folder }, async (database) => {
        const queue = createSqliteQueue({ database, name: `doctor-${newId()}` });
        await queue.send({ body: "{}" });
        const [message] = await queue.receive({ max: 1, visibilityTimeoutMs, waitMs: 1000, signal });
        const isFinished = message !== undefined && (await queue.finish({ receipt: message.receipt }));
        if (isFinished) return okFinding("A message was sent, received and finished.");
        return failedFinding(
          "A message that was sent did not come.",
          "Is the disk a local one? sqlite needs its locks.",
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
    const opened = ownFolder === undefined ? file : join(ownFolder, basename(file));
    const database = openDatabase({ file: opened, busyTimeoutMs });
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
    throw new EngineFileError(`Nothing can be kept in ${folder}. Let the user who runs sekisho write there.`, {
      cause,
    });
  }
}

/** Of some damage sqlite says so by throwing. */
function isDamaged(database: Database): boolean {
  try {
    return database.prepare("PRAGMA quick_check(1)").get()?.quick_check !== "ok";
  } catch {
    return true;
  }
}
