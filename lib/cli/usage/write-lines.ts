/** Writes an export to a file, which appears whole or not at all. */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";

/** Readable by nobody but its owner: it says who asked what. Rejects with what to do where the file cannot be written. */
export async function writeLines({
  file,
  lines,
  newId = randomUUID,
}: {
  file: string;
  lines: AsyncIterable<string>;
  newId?: () => string;
}): Promise<number> {
  const part = `${file}.${newId()}.part`;
  const handle = await open(part, "wx", 0o600).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${file} cannot be written (${cause.code}). Name a file in a folder that exists, by --out.`, {
      cause,
    });
  });
  try {
    let count = 0;
    for await (const line of lines) {
      await handle.appendFile(line);
      count += 1;
    }
    await handle.close();
    await rename(part, file);
    return count;
  } catch (thrown) {
    await handle.close().catch(() => {});
    await rm(part, { force: true });
    throw thrown;
  }
}
