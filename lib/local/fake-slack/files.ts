/** The fake Slack's files: announced, uploaded, then shared in messages. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

export const fileSchema = z.object({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  mimetype: z.string(),
  size: z.int(),
  team: z.string(),
  user: z.string(),
  /** `check_file_info`: messages show only its id (Slack Connect). `access_denied`: `files.info` refuses it too. */
  access: z.enum(["check_file_info", "access_denied"]).optional(),
});
export type FakeSlackFile = z.infer<typeof fileSchema>;

/** `bytes` are missing until the upload. `completed`: the upload's last step is done. */
type Stored = { file: FakeSlackFile; ticket?: string; bytes?: Uint8Array; completed: boolean };

/** Slack derives the type from the extension. */
const mimetypes: Record<string, string> = {
  csv: "text/csv",
  json: "application/json",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  jpg: "image/jpeg",
  txt: "text/plain",
};

/** With a `folder`, completed files outlive the process. */
export function createFakeSlackFiles(folder?: FileFolder) {
  const byId = new Map<string, Stored>();
  const nextId = () => `F${crypto.randomUUID().replaceAll("-", "").slice(0, 10).toUpperCase()}`;

  return {
    /** Stores a person's file, which needs no upload steps. */
    add({
      bytes,
      ...file
    }: Omit<FakeSlackFile, "id" | "size" | "title"> & { bytes: Uint8Array }): FakeSlackFile {
      const newFile = { ...file, id: nextId(), title: file.name, size: bytes.byteLength };
      byId.set(newFile.id, { file: newFile, bytes, completed: true });
      folder?.write(newFile, bytes);
      return newFile;
    },
    /** First step of an upload. The second step's URL ends with `ticket`. */
    announce(file: { name: string; size: number; team: string; user: string }): {
      id: string;
      ticket: string;
    } {
      const id = nextId();
      const ticket = crypto.randomUUID();
      const mimetype =
        mimetypes[file.name.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream";
      byId.set(id, { file: { ...file, id, title: file.name, mimetype }, ticket, completed: false });
      return { id, ticket };
    },
    /** Second step. False for an unknown ticket, or for another size than announced. */
    upload(ticket: string, bytes: Uint8Array): boolean {
      const storedFile = [...byId.values()].find((each) => each.ticket === ticket);
      if (
        storedFile === undefined ||
        storedFile.completed ||
        storedFile.file.size !== bytes.byteLength
      )
        return false;
      storedFile.bytes = bytes;
      return true;
    },
    /** Last step. Undefined without the bytes. */
    complete({ id, title }: { id: string; title?: string | undefined }): FakeSlackFile | undefined {
      const storedFile = byId.get(id);
      if (storedFile?.bytes === undefined) return undefined;
      storedFile.completed = true;
      storedFile.file = { ...storedFile.file, title: title ?? storedFile.file.title };
      folder?.write(storedFile.file, storedFile.bytes);
      return storedFile.file;
    },
    find(id: string): (FakeSlackFile & { bytes: Uint8Array; completed: boolean }) | undefined {
      const storedFile = byId.get(id) ?? folder?.read(id);
      return (
        storedFile?.bytes && {
          ...storedFile.file,
          bytes: storedFile.bytes,
          completed: storedFile.completed,
        }
      );
    },
  };
}

type FileFolder = ReturnType<typeof openFileFolder>;

/** Older files are deleted at the next start. */
const maxAgeMs = 7 * 24 * 3600_000;

/**
 * Stores files in a folder, so that a thread's links outlive the process, as in Slack. The folder is private to the user.
 * `onFailure` gets the error code if a file cannot be written; such a file lives until the process ends.
 */
export function openFileFolder(
  folder: string,
  onFailure: (code: string) => void,
  now: () => number,
) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (now() - statSync(path).mtimeMs > maxAgeMs) rmSync(path);
  }
  return {
    write(file: FakeSlackFile, bytes: Uint8Array): void {
      try {
        writeFileSync(join(folder, file.id), bytes, { mode: 0o600 });
        writeFileSync(join(folder, `${file.id}.json`), JSON.stringify(file), { mode: 0o600 });
      } catch (error) {
        onFailure(String(Object(error).code ?? "unknown"));
      }
    },
    read(id: string): Stored | undefined {
      // Anything else could lead out of the folder.
      if (!/^F[A-Z0-9]+$/.test(id)) return undefined;
      try {
        const file = fileSchema.parse(JSON.parse(readFileSync(join(folder, `${id}.json`), "utf8")));
        return { file, bytes: readFileSync(join(folder, id)), completed: true };
      } catch {
        return undefined;
      }
    },
  };
}
