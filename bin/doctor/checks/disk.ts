/** Is there room for what the zones keep, and may it be written? */
import { randomUUID } from "node:crypto";
import { rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Check, failed, ok, warning } from "../check.ts";

const mebibyte = 1024 * 1024;
/** A transaction that finds no room loses its message. */
const leastFreeBytes = 64 * mebibyte;
const plentyFreeBytes = 1024 * mebibyte;

/** `folder` exists. */
export function disk({
  folder,
  freeBytes = freeBytesOf,
}: {
  folder: string;
  freeBytes?: (folder: string) => Promise<number>;
}): Check {
  return {
    name: "disk",
    async run() {
      const file = join(folder, `.doctor-${randomUUID()}`);
      try {
        await writeFile(file, "may it be written?", { mode: 0o600, flag: "wx" });
      } catch (thrown) {
        const code = String(Object(thrown).code);
        const remedy = `Let the user who runs sekisho write there (ls -ld ${folder}), or run it in another folder.`;
        return failed(`${folder} cannot be written (${code}).`, remedy);
      } finally {
        await rm(file, { force: true });
      }
      const free = await freeBytes(folder);
      const what = `${folder} can be written; ${Math.floor(free / mebibyte)} MiB are free.`;
      const remedy = "Make room on the disk: tasks, their answers and files of messages are kept there.";
      if (free < leastFreeBytes) return failed(what, remedy);
      return free < plentyFreeBytes ? warning(what, remedy) : ok(what);
    },
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
