/** Signs the URLs of a folder's files, with a key that lies in the folder. */
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const keyBytes = 32;

export type FileSigner = {
  /** The query of the URL. */
  sign(request: { key: string; expiresAtMs: number }): string;
  /** `expired` was signed here, but its time is over. */
  check(request: { key: string; query: URLSearchParams; nowMs: number }): "valid" | "expired" | "forged";
};

/** The key is made once, and the same after a restart. Throws where it cannot be read, or is none. */
export function openFileSigner({ folder }: { folder: string }): FileSigner {
  const secret = openKey(join(folder, "signing.key"));
  const signature = (key: string, expires: string) =>
    createHmac("sha256", secret).update(`${key}\n${expires}`).digest("base64url");

  return {
    sign({ key, expiresAtMs }) {
      const expires = String(expiresAtMs);
      return new URLSearchParams({ expires, signature: signature(key, expires) }).toString();
    },
    check({ key, query, nowMs }) {
      const expires = query.get("expires") ?? "";
      const given = Buffer.from(query.get("signature") ?? "");
      const right = Buffer.from(signature(key, expires));
      if (given.length !== right.length || !timingSafeEqual(given, right)) return "forged";
      return nowMs < Number(expires) ? "valid" : "expired";
    },
  };
}

/** Two processes that start at once have the same one: it appears whole, and only if none is there. */
function openKey(file: string): Buffer {
  const fresh = `${file}.${randomUUID()}`;
  try {
    writeFileSync(fresh, randomBytes(keyBytes), { mode: 0o600, flag: "wx" });
    linkSync(fresh, file);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  } finally {
    rmSync(fresh, { force: true });
  }
  const key = readFileSync(file);
  if (key.length !== keyBytes) throw new Error(`${file} is no signing key. Delete it: links to files go out of date.`);
  return key;
}
