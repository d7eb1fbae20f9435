/** The image's folders, made without an image: what the Dockerfile copies, in a folder alone, with its own commands. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { argumentsOf, ignores, readInstructions, wordsOf } from "./dockerfile.ts";

export const root = join(import.meta.dirname, "../../../..");
export const instructions = readInstructions(readFileSync(join(root, "Dockerfile"), "utf8"));
export const isIgnored = ignores(readFileSync(join(root, ".dockerignore"), "utf8"));

export type Built = {
  /** A path of the image where it is on this machine. */
  at(path: string): string;
  remove(): void;
};

/** `args` as of `docker build --build-arg`. Throws with what a command of the build said where it fails. */
export function buildHere(args: Readonly<Record<string, string>> = {}): Built {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-image-"));
  const variables = { ...argumentsOf(instructions), ...args };
  const [build, image] = [join(folder, "build"), join(folder, "image")];
  const inBuild = (path: string) => join(folder, path);
  copyContext(build);
  for (const { text } of instructions.filter(({ name, stage }) => name === "RUN" && stage === 0)) {
    const [command = "", ...words] = wordsOf(text, variables);
    // The packages are there, as `npm ci` would install them.
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
