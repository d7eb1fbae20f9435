/** The machine of a reader who follows the documents: a folder with the project's examples. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandHere } from "../../cli/aws/command-here.ts";
import { type Process, type Run, sekisho } from "../../e2e/processes.ts";
import { root } from "./documented.ts";
import type { ShellCommand } from "./shell-line.ts";

type Options = {
  env?: Record<string, string>;
  /** Replaces the document's placeholders with this machine's addresses, tokens and names. */
  replace?: Record<string, string>;
  /** Where `run` runs the command, instead of in the machine's folder. */
  folder?: string;
  /** Keeps the process running until the machine ends. */
  stays?: boolean;
};

export type Machine = {
  folder: string;
  /** Runs `sekisho …` in this process, in the folder. */
  run(command: ShellCommand, options?: Options): Promise<Run>;
  /** Starts the same, or `npm start …`, as a process that runs until it is ended. */
  start(command: ShellCommand, options?: Options): Process;
  configure(json: unknown): void;
  /** Calls `end` after the test, the latest first. */
  after(end: () => unknown): void;
  endTest(): Promise<void>;
  remove(): Promise<void>;
};

export function openMachine(): Machine {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-documents-"));
  symlinkSync(join(root, "examples"), join(folder, "examples"));
  const ends: (() => unknown)[] = [];
  const lastEnds: (() => unknown)[] = [];
  return {
    folder,
    async run(command, options = {}) {
      const before = process.cwd();
      process.chdir(options.folder ?? folder);
      try {
        return await commandHere(...given(command, options));
      } finally {
        process.chdir(before);
      }
    },
    start(command, options = {}) {
      const [args, env] = given(command, options);
      const started = sekisho({ args, cwd: folder, env });
      (options.stays ? lastEnds : ends).push(() => started.kill("SIGKILL"));
      return started;
    },
    configure: (json) => writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(json)),
    after: (end) => void ends.push(end),
    async endTest() {
      for (const end of ends.splice(0).reverse()) await end();
    },
    async remove() {
      for (const end of lastEnds.splice(0)) await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function given({ env, args }: ShellCommand, options: Options): [string[], Record<string, string>] {
  const replaced = (text: string) =>
    Object.entries(options.replace ?? {}).reduce(
      (sum, [from, to]) => sum.replaceAll(from, to),
      text,
    );
  const own = Object.entries(env).map(([name, value]) => [name, replaced(value)]);
  const words = sekishoText(args).map(replaced);
  // A busy machine may need longer than the two minutes of a run.
  if (words[0] === "conformance") words.push("--budget", "3600");
  return [words, { ...Object.fromEntries(own), ...options.env }];
}

/** The command that npx and npm would run. */
function sekishoText([first = "", second = "", ...rest]: string[]): string[] {
  if (first === "sekisho") return [second, ...rest];
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const name = second === "run" ? rest.shift() : second;
  const [node, entry, ...args] = String(scripts[name ?? ""]).split(" ");
  if (first !== "npm" || node !== "node" || entry !== "bin/sekisho.mjs")
    throw new Error(`${second} is not ours.`);
  return [...args, ...rest.filter((word) => word !== "--")];
}
