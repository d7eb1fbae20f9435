/** The files of messages in the local run's folder, each task's below its request id. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DataPart } from "./person.ts";

export function createLocalFiles({ folder }: { folder: string }): DataPart {
  async function namesOf(id: string): Promise<string[]> {
    return readdir(join(folder, id)).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return [];
      throw thrown;
    });
  }
  async function count({ ids }: { ids: ReadonlySet<string> }) {
    let sum = 0;
    for (const id of ids) sum += (await namesOf(id)).length;
    return sum;
  }
  return {
    what: "files of messages",
    count,
    async erase({ ids }) {
      const sum = await count({ ids });
      for (const id of ids) await rm(join(folder, id), { recursive: true, force: true });
      return sum;
    },
  };
}
