/** Keeps the stand-in's files in a folder, so that what a thread links to outlives the process, as it does in Slack. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileSchema } from "./file-schema.ts";
import type { StandInFile } from "./files.ts";

export type FileFolder = {
  write(file: StandInFile, bytes: Uint8Array): void;
  read(id: string): { file: StandInFile; bytes: Uint8Array } | undefined;
};

/** Older ones are gone at the next start. */
const maxAgeMs = 7 * 24 * 3600_000;

/** Private to the user. `onFailure` gets the error's code where a file cannot be written; it is there until the process ends. */
export function openFileFolder({
  folder,
  now,
  onFailure,
}: {
  folder: string;
  now: () => number;
  onFailure: (code: string) => void;
}): FileFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (now() - statSync(path).mtimeMs > maxAgeMs) rmSync(path);
  }
  return {
    write(file, bytes) {
      try {
        writeFileSync(join(folder, file.id), bytes, { mode: 0o600 });
        writeFileSync(join(folder, `${file.id}.json`), JSON.stringify(file), { mode: 0o600 });
      } catch (error) {
        onFailure(String(Object(error).code ?? "unknown"));
      }
    },
    read(id) {
      if (!/^F[A-Z0-9]+$/.test(id)) return undefined;
      try {
        const file = fileSchema.parse(JSON.parse(readFileSync(join(folder, `${id}.json`), "utf8")));
        return { file, bytes: readFileSync(join(folder, id)) };
      } catch {
        return undefined;
      }
    },
  };
}
