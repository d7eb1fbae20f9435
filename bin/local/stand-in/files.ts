/** The stand-in's files: first expected, then uploaded, then in messages. */
import type { FileFolder } from "./file-folder.ts";

/** Of a file as messages tell of it. */
export type StandInFile = {
  id: string;
  name: string;
  title: string;
  mimetype: string;
  size: number;
  team: string;
  user: string;
};

export type FileStore = {
  /** A person's file, which is there at once. */
  add(file: Omit<StandInFile, "id" | "size" | "title"> & { bytes: Uint8Array }): StandInFile;
  /** First step of an upload; `ticket` is what the address of the second consists of. */
  expect(file: { name: string; size: number; team: string; user: string }): { id: string; ticket: string };
  /** False where nothing is expected under that ticket, or not that many bytes. */
  take(upload: { ticket: string; bytes: Uint8Array }): boolean;
  /** Last step. Undefined where the bytes have not come. */
  complete(upload: { id: string; title: string | undefined }): StandInFile | undefined;
  /** `completed`: its upload is over. */
  find(id: string): (StandInFile & { bytes: Uint8Array; completed: boolean }) | undefined;
};

type Kept = { file: StandInFile; ticket?: string; bytes?: Uint8Array; completed: boolean };

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
export function createFiles({
  folder,
  newId = () => crypto.randomUUID(),
}: {
  folder?: FileFolder | undefined;
  newId?: () => string;
} = {}): FileStore {
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
