/** The simulation as a child process, as people start it. */
import { type ChildProcess, execFile } from "node:child_process";
import { join } from "node:path";
import { afterEach } from "@jest/globals";

const root = join(import.meta.dirname, "../..");

/** Worlds come and go: with more room for what is young, less of it is moved. */
const nodeOptions = ["--max-semi-space-size=64"];

const running = new Set<ChildProcess>();

/** A test that fails or runs out of time leaves no process behind. Hard: a run that never ends does not hear a signal. */
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});

export type Ended = { code: number; stdout: string; stderr: string };

export function faults(...args: string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  const child = execFile(
    process.execPath,
    [...nodeOptions, "test/faults/run.ts", ...args],
    options,
    (error, stdout, stderr) => {
      running.delete(child);
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    },
  );
  running.add(child);
  return promise;
}

/** The figures of the last line of a search. */
export function figuresOf({ stdout }: Ended): { runs: number; faults: number; failures: number } {
  const [, runs, met, failures] =
    /^all +(\d+) runs, (\d+) faults, \d+ exempt, (\d+) failures/m.exec(stdout) ?? [];
  return { runs: Number(runs), faults: Number(met), failures: Number(failures) };
}
