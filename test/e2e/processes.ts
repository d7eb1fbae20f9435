/** The zones as processes of their own, started by the command that people start, to be killed without warning. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { hangSignal } from "../tooling/hang.ts";
import { endWithUs } from "../tooling/reaper.ts";

const entry = join(import.meta.dirname, "../../bin/sekisho.mjs");

export type Run = { code: number | null; stdout: string; stderr: string };

export type Process = {
  child: ChildProcess;
  output(): string;
  /** Resolves when the output holds the text. */
  prints(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<Run>;
  exited: Promise<Run>;
};

/** `sekisho <args>` with nothing of this process's environment but the path, and `env`; in a group of its own, ended with us. */
export function sekisho({
  args,
  cwd,
  env = {},
}: {
  args: string[];
  cwd: string;
  env?: Record<string, string>;
}): Process {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  endWithUs(child);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (data) => (stdout += data));
  child.stderr?.on("data", (data) => (stderr += data));
  const exit = once(child, "close").then(([code]) => ({
    code: code as number | null,
    stdout,
    stderr,
  }));
  return {
    child,
    output: () => stdout + stderr,
    async prints(text) {
      const limit = hangSignal();
      while (!(stdout + stderr).includes(text)) {
        if (limit.aborted)
          throw new Error(`It runs without printing "${text}":\n${stdout}${stderr}`);
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`It ended without printing "${text}":\n${stdout}${stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async kill(signal) {
      child.kill(signal);
      return exit;
    },
    exited: exit,
  };
}
