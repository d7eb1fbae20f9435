/** The simulation as a child process, as people start it. */
import { execFile } from "node:child_process";
import { setPriority } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Worlds come and go: with more room for what is young, less of it is moved. */
const nodeOptions = ["--max-semi-space-size=64"];

export type Ended = { code: number; stdout: string; stderr: string };

export function faults(...args: string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const options = { cwd: root, timeout: 15 * 60_000, maxBuffer: 64 * 1024 * 1024 };
  const child = execFile(
    process.execPath,
    [...nodeOptions, "test/faults/run.ts", ...args],
    options,
    (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    },
  );
  // It only reckons: the tests beside it wait for real time.
  if (child.pid !== undefined) setPriority(child.pid, 10);
  return promise;
}

/** Of the last line of a search. */
export function figuresOf({ stdout }: Ended): { runs: number; faults: number; failures: number } {
  const [, runs, met, failures] = /^all +(\d+) runs, (\d+) faults, \d+ exempt, (\d+) failures/m.exec(stdout) ?? [];
  return { runs: Number(runs), faults: Number(met), failures: Number(failures) };
}
