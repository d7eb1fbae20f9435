/** Replaces a file's content atomically: a reader sees the old or the new content, and never a part of it. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readTextFile } from "@sekisho/runtime/text-file.ts";

export type Replacement = {
  /** Throws where the file is no longer what was read. Keeps its mode, and a link to it. */
  write(request: { before: string; after: string }): void;
  /** Removes the temporary file. */
  close(): void;
};

/** Throws where no file can be created beside it, before anything else is changed. */
export function openReplacement({ path }: { path: string }): Replacement {
  const real = realpathSync(path);
  const beside = `${real}.${process.pid}.tmp`;
  const file = openBeside(beside, path);
  return {
    write({ before, after }) {
      fchmodSync(file, statSync(real).mode);
      writeFileSync(file, after);
      fsyncSync(file);
      if (readTextFile(real) !== before)
        throw new Error(`${path} was changed by someone else meanwhile; try again.`);
      renameSync(beside, real);
    },
    close() {
      closeSync(file);
      rmSync(beside, { force: true });
    },
  };
}

function openBeside(beside: string, path: string): number {
  try {
    return openSync(beside, "wx");
  } catch (cause) {
    throw new Error(
      `${path} cannot be replaced (${Object(cause).code}): may you write beside it?`,
      { cause },
    );
  }
}
