import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { isFolderLocked, lockFolder } from "@sekisho/local/folder-lock.ts";

let parent: string;
let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "lock-"));
  folder = join(parent, ".sekisho");
});
afterEach(async () => {
  await kill();
  rmSync(parent, { recursive: true, force: true });
});

/** Locks the folder in another process. */
async function hold(): Promise<void> {
  child = spawn(process.execPath, [join(__dirname, "children/hold-folder.ts"), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.stdout === null) throw new Error("The child has no output.");
  const [line] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  expect(String(line)).toBe("locked\n");
}

async function kill(): Promise<void> {
  if (child === undefined) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  child = undefined;
}

describe("the folder of a start", () => {
  it("refuses a locked folder to a second process, says what to do, and allows another folder", async () => {
    await hold();
    expect(() => lockFolder({ folder })).toThrow(
      `Another \`sekisho start\` uses ${folder}. Stop it, or start in another folder.`,
    );
    lockFolder({ folder: join(parent, "another") }).release();
  });

  it("frees the folder at once when its process is killed with SIGKILL", async () => {
    await hold();
    await kill();
    lockFolder({ folder }).release();
  });

  it("creates a missing folder and can be locked again after a release", () => {
    expect(existsSync(folder)).toBe(false);
    const lock = lockFolder({ folder });
    expect(() => lockFolder({ folder })).toThrow("Another");
    lock.release();
    lockFolder({ folder }).release();
  });

  it("reports whether any process holds the folder, and does not create it", async () => {
    expect(isFolderLocked({ folder })).toBe(false);
    expect(existsSync(folder)).toBe(false);
    await hold();
    expect(isFolderLocked({ folder })).toBe(true);
    await kill();
    expect(isFolderLocked({ folder })).toBe(false);
    const lock = lockFolder({ folder });
    expect(isFolderLocked({ folder })).toBe(true);
    lock.release();
  });

  it("does not report a folder that cannot be created as in use", () => {
    expect(() => lockFolder({ folder: "/dev/null/folder" })).toThrow("ENOTDIR");
  });
});
