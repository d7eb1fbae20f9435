/** Reads the Dockerfile and makes the image's folders without docker: the files that it copies, made by its own commands. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, matchesGlob } from "node:path";

export const root = join(import.meta.dirname, "../../../..");
export const instructions = readInstructions(readFileSync(join(root, "Dockerfile"), "utf8"));
export const isIgnored = ignores(readFileSync(join(root, ".dockerignore"), "utf8"));

export type Built = {
  /** The place of an image's path on this machine. */
  at(path: string): string;
  remove(): void;
};

/** `args` are those of `docker build --build-arg`. Throws with the output of a command that fails. */
export function buildHere(args: Readonly<Record<string, string>> = {}): Built {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-image-"));
  const variables = { ...argumentsOf(instructions), ...args };
  const [build, image] = [join(folder, "build"), join(folder, "image")];
  const inBuild = (path: string) => join(folder, path);
  copyContext(build);
  for (const { text } of instructions.filter(({ name, stage }) => name === "RUN" && stage === 0)) {
    const [command = "", ...words] = wordsOf(text, variables);
    // In the place of `npm ci`.
    if (command === "npm") symlinkSync(join(root, "node_modules"), join(build, "node_modules"));
    else if (command === "mkdir") mkdirSync(inBuild(words[0] ?? ""));
    else run({ cwd: build, words: words.map((word) => (word.startsWith("/out") ? inBuild(word) : word)) });
  }
  for (const { text } of instructions.filter(({ name, options }) => name === "COPY" && options.from !== undefined)) {
    const sources = text.split(" ");
    const target = sources.pop() ?? "";
    for (const source of sources) {
      const to = join(image, target, target.endsWith("/") ? (source.split("/").at(-1) ?? "") : "");
      mkdirSync(dirname(to), { recursive: true });
      cpSync(inBuild(source), to, { recursive: true });
    }
  }
  return { at: (path) => join(image, path), remove: () => rmSync(folder, { recursive: true }) };
}

function copyContext(build: string): void {
  mkdirSync(build);
  for (const name of readdirSync(root)) {
    if (!isIgnored(name)) cpSync(join(root, name), join(build, name), { recursive: true });
  }
}

function run({ cwd, words }: { cwd: string; words: string[] }): void {
  const { status, stderr } = spawnSync(process.execPath, words, { cwd, encoding: "utf8", timeout: 60_000 });
  if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}: ${stderr}`);
}

type Instruction = {
  name: string;
  /** Options by name, such as `--from=build`. */
  options: Readonly<Record<string, string>>;
  /** The text behind the options, with unexpanded variables. */
  text: string;
  /** The index of the stage; -1 before the first. */
  stage: number;
};

function readInstructions(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  let stage = -1;
  return lines.flatMap((line) => {
    const [, name, options = "", rest = ""] = /^([A-Z]+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
    if (name === undefined) {
      if (line.trim() !== "") throw new Error(`No instruction: ${line}`);
      return [];
    }
    if (name === "FROM") stage += 1;
    const named = [...options.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, key = "", value = ""]) => [key, value]);
    return [{ name, options: Object.fromEntries(named), text: rest, stage }];
  });
}

/** Splits a line like a shell, with expanded variables. */
function wordsOf(line: string, variables: Readonly<Record<string, string>>): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) =>
    word.replaceAll('"', "").replaceAll(/\$\{?([A-Z_]+)\}?/g, (_, name: string) => variables[name] ?? ""),
  );
}

export function argumentsOf(instructions: readonly Instruction[]): Record<string, string> {
  const given = instructions.filter(({ name }) => name === "ARG").map(({ text }) => text.split(/=(.*)/s));
  return Object.fromEntries(given.map(([name, value = ""]) => [name, value.replaceAll('"', "")]));
}

/** Our file has names and `*` only. Each starts at the root, and a folder includes its content. */
function ignores(dockerignore: string): (path: string) => boolean {
  const patterns = dockerignore.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return (path) => patterns.some((pattern) => matchesGlob(path.split("/")[0] ?? "", pattern));
}
