/** The command line in an empty folder of the test file's own; what a test leaves running is ended after it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach } from "@jest/globals";
import { type Process, sekisho } from "../e2e/processes.ts";

export function commandsInFolder() {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-cli-"));
  let running: Process[] = [];
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  afterEach(async () => {
    await Promise.all(running.map((process) => process.kill("SIGKILL")));
    running = [];
  });

  function start(args: string[], env: Record<string, string> = {}, cwd = folder): Process {
    const process = sekisho({ args, cwd, env });
    running.push(process);
    return process;
  }
  return { folder, start, run: (...args: Parameters<typeof start>) => start(...args).exited };
}
