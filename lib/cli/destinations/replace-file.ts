/** Replaces a file's content at once: whoever reads it meanwhile sees the old or the new one, never a part. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";

export type Replacement = {
  /** Throws where the file is no longer what was read. Its mode stays, and a link goes on leading to it. */
  write(request: { before: string; after: string }): void;
  /** Leaves nothing behind, whether it was written or not. */
  close(): void;
};

/** Throws where there is no way to write beside the file: better known before anything else is changed. */
export function openReplacement({ path }: { path: string }): Replacement {
  const real = realpathSync(path);
  const beside = `${real}.${process.pid}.tmp`;
  const file = open(beside, path);
  return {
    write({ before, after }) {
      fchmodSync(file, statSync(real).mode);
      writeFileSync(file, after);
      fsyncSync(file);
      if (readFileSync(real, "utf8") !== before)
        throw new Error(`${path} was changed by someone else meanwhile; try again.`);
      renameSync(beside, real);
    },
    close() {
      closeSync(file);
      rmSync(beside, { force: true });
    },
  };
}

function open(beside: string, path: string): number {
  try {
    return openSync(beside, "wx");
  } catch (cause) {
    throw new Error(`${path} cannot be replaced (${Object(cause).code}): may you write beside it?`, { cause });
  }
}
