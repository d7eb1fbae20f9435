/** Runs the Python example as its image does: the files that the Dockerfile copies, alone in a folder, with its command. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endWithUs } from "../rehearsal/reaper.ts";

const folder = resolve(import.meta.dirname, "../../examples/execute-elsewhere/python");
export const dockerfile = readFileSync(join(folder, "Dockerfile"), "utf8");
const [command = "", ...words] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]") as string[];
const copied = [...dockerfile.matchAll(/^COPY (\S+) \.$/gm)].map(([, name = ""]) => name);

const isThere = spawnSync(command, ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).status === 0;
/** Why the tests are left out, where the example cannot run. */
export const whyNoPython = isThere ? undefined : `there is no ${command} of version 3.11 or newer`;

export type Python = {
  url: string;
  child: ChildProcess;
  /** Everything that it has printed. */
  said(): string;
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
};

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
  const address = /^Listening on (\S+) (\d+)$/m;
  while (!address.test(process.said())) {
    if (process.child.exitCode !== null) throw new Error(`It ended: ${process.said()}`);
    await new Promise((passed) => setTimeout(passed, 10));
  }
  const [, host, port] = address.exec(process.said()) ?? [];
  return { ...process, url: `http://${host}:${port}/` };
}

export function spawnPython({
  env,
  edit = (text) => text,
}: {
  env: Record<string, string>;
  edit?: (text: string) => string;
}): Omit<Python, "url"> {
  const alone = mkdtempSync(join(tmpdir(), "sekisho-python-"));
  for (const name of copied) copyFileSync(join(folder, name), join(alone, name));
  const [main = ""] = copied;
  writeFileSync(join(alone, main), edit(readFileSync(join(folder, main), "utf8")));
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(command, words, {
    cwd: alone,
    env: { PATH, HOME, HOST: "127.0.0.1", PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said += chunk;
    });
  }
  running.push(() => {
    child.kill("SIGKILL");
    rmSync(alone, { recursive: true });
  });
  return { child, said: () => said, ended: once(child, "close").then(([code]) => code as number | null) };
}
