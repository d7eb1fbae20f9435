/** A key in a file of its own, which is created once and is private to the user. */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";

/**
 * Reads the file, or creates it first. Two processes that start at once use the same key: a link appears whole, and never replaces a file.
 */
export function openKeyFile(options: { file: string; create: () => string | Uint8Array }): Buffer {
  const { file, create } = options;
  if (existsSync(file)) return readFileSync(file);
  const newFile = `${file}.${randomUUID()}`;
  try {
    writeFileSync(newFile, create(), { mode: 0o600, flag: "wx" });
    linkSync(newFile, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(newFile, { force: true });
  }
  return readFileSync(file);
}
