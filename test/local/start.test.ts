/** `sekisho start` that fails after its zones have begun. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, jest } from "@jest/globals";
import { lockFolder } from "@sekisho/local/folder-lock.ts";
import { start } from "@sekisho/sekisho/start/command.ts";

it.each([
  ["with the fake Slack", {}],
  ["with the real Slack", { SLACK_SIGNING_SECRET: "s".repeat(32), SLACK_BOT_TOKEN: "xoxb-1" }],
])("leaves no listener and no lock after a failed start %s", async (_name, secrets) => {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-start-"));
  const env = {
    PATH: process.env.PATH,
    SEKISHO_PORT: "0",
    SEKISHO_EXECUTION_PORT: "0",
    ...secrets,
  };
  const environment = jest.replaceProperty(process, "env", env);
  const printed: string[] = [];
  const print = (text: string) => {
    printed.push(text);
    if (printed.length > 1) throw new Error("nobody reads the output");
  };
  try {
    const { signal } = new AbortController();
    const run = { args: [], directory, signal, print, note: () => {} };
    await expect(start.run(run)).rejects.toThrow("nobody reads the output");
    const urls = printed.map((line) => /http:\S+/.exec(line)?.[0] ?? "");
    expect(urls.length).toBe(2);
    for (const url of urls) await expect(fetch(url)).rejects.toThrow("fetch failed");
    lockFolder({ folder: join(directory, ".sekisho") }).release();
  } finally {
    environment.restore();
    rmSync(directory, { recursive: true, force: true });
  }
});
