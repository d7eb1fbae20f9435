/** Stores installations on one machine, in a file that only its owner can read. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import {
  type Installations,
  requireInstallationId,
  storedInstallationSchema,
} from "./installations.ts";

const fileSchema = z.record(z.string(), storedInstallationSchema);
type Content = z.infer<typeof fileSchema>;

/** Each call reads the file again, because another process may have written it. Only one process may write at a time. */
export function createInstallationFile({ file }: { file: string }): Installations {
  let writing = Promise.resolve();

  async function readContent(): Promise<Content> {
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "{}";
      throw error;
    });
    try {
      return fileSchema.parse(JSON.parse(text));
    } catch {
      // The error has no cause, because its message could contain a token.
      throw new Error(`${file} does not contain valid installations.`);
    }
  }

  /** Writes a temporary file and renames it, so that a reader never sees half of the content. */
  async function write(content: Content): Promise<void> {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const temporary = `${file}.${randomUUID()}`;
    try {
      const handle = await open(temporary, "wx", 0o600);
      try {
        await handle.writeFile(JSON.stringify(content, null, 2));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  return {
    async get({ id }) {
      const content = await readContent();
      return Object.hasOwn(content, id) ? content[id] : undefined;
    },
    async put({ id, installation }) {
      requireInstallationId(id);
      const put = writing.then(async () => write({ ...(await readContent()), [id]: installation }));
      writing = put.catch(() => {});
      await put;
    },
  };
}
