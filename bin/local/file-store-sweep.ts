/** Takes away the files of messages whose day is over. */
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** What was last written before that moment, with the folders that it leaves empty. The folder's own files stay. */
export async function sweepFiles({ folder, olderThanMs }: { folder: string; olderThanMs: number }): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory())) {
    const inner = join(folder, entry.name);
    for (const name of await readdir(inner)) {
      const file = join(inner, name);
      // One that was half written a moment ago may be gone by now.
      const found = await stat(file).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < olderThanMs) await rm(file, { force: true });
    }
    await removeIfEmpty(inner);
  }
}

/** A file that was just put there keeps it. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((thrown: NodeJS.ErrnoException) => {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(thrown.code ?? "")) throw thrown;
  });
}
