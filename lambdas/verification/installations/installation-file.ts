/** Installations on one machine: one file that only its owner may read. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import { type Installations, requireInstallationId, storedInstallationSchema } from "./installations.ts";

const fileSchema = z.record(z.string(), storedInstallationSchema);
type Content = z.infer<typeof fileSchema>;

/** Read anew each time, so that another process may write it. One process must write at a time. */
export function createInstallationFile({ file }: { file: string }): Installations {
  let writing = Promise.resolve();

  async function read(): Promise<Content> {
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "{}";
      throw error;
    });
    try {
      return fileSchema.parse(JSON.parse(text));
    } catch {
      // What is wrong with it is not told: it holds tokens.
      throw new Error(`${file} holds no installations.`);
    }
  }

  /** Beside the file first, so that nobody ever reads half of it. */
  async function write(content: Content): Promise<void> {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const beside = `${file}.${randomUUID()}`;
    try {
      const handle = await open(beside, "wx", 0o600);
      try {
        await handle.writeFile(JSON.stringify(content, null, 2));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(beside, file);
    } catch (thrown) {
      await rm(beside, { force: true });
      throw thrown;
    }
  }

  return {
    async get({ id }) {
      const content = await read();
      return Object.hasOwn(content, id) ? content[id] : undefined;
    },
    async put({ id, installation }) {
      requireInstallationId(id);
      const put = writing.then(async () => write({ ...(await read()), [id]: installation }));
      writing = put.catch(() => {});
      await put;
    },
  };
}
