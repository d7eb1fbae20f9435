/** Runs the Python example as its image does: the files that the Dockerfile copies, alone in a folder, with its command. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { addressOf, type ExampleProcess, spawnExample } from "./example-process.ts";

const folder = resolve(import.meta.dirname, "../../examples/execute-elsewhere/python");
export const dockerfile = readFileSync(join(folder, "Dockerfile"), "utf8");
const [command = "", ...words] = JSON.parse(
  /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]",
) as string[];
const copied = [...dockerfile.matchAll(/^COPY (\S+) \.$/gm)].map(([, name = ""]) => name);

const isThere =
  spawnSync(command, ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).status === 0;
/** Why the tests are left out, where the example cannot run. */
export const whyNoPython = isThere ? undefined : `there is no ${command} of version 3.11 or newer`;

export type Python = ExampleProcess & { url: string };

const running: (() => void)[] = [];

export function endPython(): void {
  for (const end of running.splice(0)) end();
}

/** `edit` changes the text of the file before it runs. Listens on loopback, whatever the image does. */
export async function startPython({
  env = {},
  edit = (text) => text,
}: {
  env?: Record<string, string>;
  edit?: (text: string) => string;
} = {}): Promise<Python> {
  const process = spawnPython({ env, edit });
  return { ...process, url: `${await addressOf(process)}/` };
}

export function spawnPython({
  env,
  edit = (text) => text,
}: {
  env: Record<string, string>;
  edit?: (text: string) => string;
}): ExampleProcess {
  const alone = mkdtempSync(join(tmpdir(), "sekisho-python-"));
  for (const name of copied) copyFileSync(join(folder, name), join(alone, name));
  const [main = ""] = copied;
  writeFileSync(join(alone, main), edit(readFileSync(join(folder, main), "utf8")));
  const python = spawnExample({ command, args: words, cwd: alone }, env);
  running.push(() => {
    python.child.kill("SIGKILL");
    rmSync(alone, { recursive: true });
  });
  return python;
}
