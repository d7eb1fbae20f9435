/** A Dockerfile as a list of instructions, as far as ours uses the language; and what .dockerignore keeps out of its context. */
import { matchesGlob } from "node:path";

export type Instruction = {
  name: string;
  /** Options such as `--from=build`, by name. */
  options: Readonly<Record<string, string>>;
  /** What stands behind the options, with its variables as they are. */
  text: string;
  /** The index of the stage; -1 before the first. */
  stage: number;
};

export function readInstructions(text: string): Instruction[] {
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

/** The values of `ARG`s without those of a command line, and the words of a line with them, as a shell would cut it. */
export function wordsOf(line: string, variables: Readonly<Record<string, string>>): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) =>
    word.replaceAll('"', "").replaceAll(/\$\{?([A-Z_]+)\}?/g, (_, name: string) => variables[name] ?? ""),
  );
}

export function argumentsOf(instructions: readonly Instruction[]): Record<string, string> {
  const given = instructions.filter(({ name }) => name === "ARG").map(({ text }) => text.split(/=(.*)/s));
  return Object.fromEntries(given.map(([name, value = ""]) => [name, value.replaceAll('"', "")]));
}

/** Our own file has names and `*` alone; each counts from the root, and a folder with all that is in it. */
export function ignores(dockerignore: string): (path: string) => boolean {
  const patterns = dockerignore.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return (path) => patterns.some((pattern) => matchesGlob(path.split("/")[0] ?? "", pattern));
}
