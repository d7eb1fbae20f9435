/** The commands that listen until Ctrl-C: a failure after they began to listen closes the listener. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { execution } from "@sekisho/sekisho/execution/command.ts";
import { operate } from "@sekisho/sekisho/operate/command.ts";
import { verification } from "@sekisho/sekisho/verification/command.ts";

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-print-"));
  mkdirSync(join(folder, ".sekisho"));
  await openSqliteEngine({ file: join(folder, ".sekisho", "verification.db") }).close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ["verification", verification],
  ["execution", execution],
  ["operate", operate],
])("sekisho %s", (_name, command) => {
  it("closes its listener if it cannot print the address", async () => {
    const secrets = {
      SLACK_SIGNING_SECRET: "0123456789abcdef0123456789abcdef",
      SLACK_BOT_TOKEN: "xoxb-1",
    };
    const environment = jest.replaceProperty(process, "env", {
      ...secrets,
      SEKISHO_LOG_LEVEL: "error",
    });
    let address: string | undefined;
    try {
      const run = command.run({
        args: ["--port", "0"],
        directory: folder,
        signal: new AbortController().signal,
        print(text) {
          address ??= /http:\S+/.exec(text)?.[0];
          throw new Error("nobody reads this");
        },
        note: () => {},
      });
      await expect(run).rejects.toThrow("nobody reads this");
    } finally {
      environment.restore();
    }
    expect(address).toBeDefined();
    await expect(fetch(String(address))).rejects.toThrow("fetch failed");
  });
});
