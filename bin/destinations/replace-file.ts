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

/** Throws where the file is no longer what was read. Its mode stays, and a link goes on leading to it. */
export function replaceFile({ path, before, after }: { path: string; before: string; after: string }): void {
  const real = realpathSync(path);
  const beside = `${real}.${process.pid}.tmp`;
  const file = openSync(beside, "wx");
  try {
    fchmodSync(file, statSync(real).mode);
    writeFileSync(file, after);
    fsyncSync(file);
    if (readFileSync(real, "utf8") !== before)
      throw new Error(`${path} was changed by someone else meanwhile; try again.`);
    renameSync(beside, real);
  } finally {
    closeSync(file);
    rmSync(beside, { force: true });
  }
}
