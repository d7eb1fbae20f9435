/** The fake Slack's files: first expected, then uploaded, then in messages. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

/** Of a file as messages tell of it. */
export type FakeSlackFile = {
  id: string;
  name: string;
  title: string;
  mimetype: string;
  size: number;
  team: string;
  user: string;
};

export type FakeSlackFiles = {
  /** A person's file, which is there at once. */
  add(file: Omit<FakeSlackFile, "id" | "size" | "title"> & { bytes: Uint8Array }): FakeSlackFile;
  /** First step of an upload; `ticket` is what the address of the second consists of. */
  expect(file: { name: string; size: number; team: string; user: string }): { id: string; ticket: string };
  /** False where nothing is expected under that ticket, or not that many bytes. */
  take(upload: { ticket: string; bytes: Uint8Array }): boolean;
  /** Last step. Undefined where the bytes have not come. */
  complete(upload: { id: string; title: string | undefined }): FakeSlackFile | undefined;
  /** `completed`: its upload is over. */
  find(id: string): (FakeSlackFile & { bytes: Uint8Array; completed: boolean }) | undefined;
};

type Kept = { file: FakeSlackFile; ticket?: string; bytes?: Uint8Array; completed: boolean };

/** By extension, as Slack does it for files that it knows. */
const mimetypes: Record<string, string> = {
  csv: "text/csv",
  json: "application/json",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  jpg: "image/jpeg",
  txt: "text/plain",
};

/** With a `folder` the files outlive the process, once they are complete. */
export function createFakeSlackFiles({
  folder,
  newId = () => crypto.randomUUID(),
}: {
  folder?: FileFolder | undefined;
  newId?: () => string;
} = {}): FakeSlackFiles {
  const byId = new Map<string, Kept>();

  function nextId(): string {
    return `F${newId().replaceAll("-", "").slice(0, 10).toUpperCase()}`;
  }

  return {
    add({ bytes, ...file }) {
      const added = { ...file, id: nextId(), title: file.name, size: bytes.byteLength };
      byId.set(added.id, { file: added, bytes, completed: true });
      folder?.write(added, bytes);
      return added;
    },
    expect({ name, size, team, user }) {
      const id = nextId();
      const ticket = newId();
      const mimetype = mimetypes[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream";
      byId.set(id, { file: { id, name, title: name, mimetype, size, team, user }, ticket, completed: false });
      return { id, ticket };
    },
    take({ ticket, bytes }) {
      const kept = [...byId.values()].find((each) => each.ticket === ticket);
      if (kept === undefined || kept.completed || kept.file.size !== bytes.byteLength) return false;
      kept.bytes = bytes;
      return true;
    },
    complete({ id, title }) {
      const kept = byId.get(id);
      if (kept?.bytes === undefined) return undefined;
      kept.completed = true;
      kept.file = { ...kept.file, title: title ?? kept.file.title };
      folder?.write(kept.file, kept.bytes);
      return kept.file;
    },
    find(id) {
      const stored = byId.has(id) ? undefined : folder?.read(id);
      if (stored !== undefined) return { ...stored.file, bytes: stored.bytes, completed: true };
      const kept = byId.get(id);
      return kept?.bytes === undefined ? undefined : { ...kept.file, bytes: kept.bytes, completed: kept.completed };
    },
  };
}

// Keeps the fake Slack's files in a folder, so that what a thread links to outlives the process, as it does in Slack.

export type FileFolder = {
  write(file: FakeSlackFile, bytes: Uint8Array): void;
  read(id: string): { file: FakeSlackFile; bytes: Uint8Array } | undefined;
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

// What the fake Slack keeps of a file beside its bytes, as it is read again from a disk.

export const fileSchema = z.object({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  mimetype: z.string(),
  size: z.int(),
  team: z.string(),
  user: z.string(),
});
