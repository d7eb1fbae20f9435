/** What a test has opened is closed when it is over, the latest first, whether it passed or not. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach } from "@jest/globals";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Calls these when the running test is over. */
export function afterTest(...closing: (() => unknown)[]): void {
  closers.push(...closing);
}

/** An empty folder of the running test. */
export function folderOfTest(): string {
  const folder = makeFolder();
  afterTest(() => remove(folder));
  return folder;
}

/** An empty folder of the test file, for its top level and the top of a `describe`. */
export function folderOfFile(): string {
  const folder = makeFolder();
  afterAll(() => remove(folder));
  return folder;
}

function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), "sekisho-test-"));
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
