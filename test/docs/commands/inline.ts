/**
 * Commands within sentences. They are not run, because a sentence says neither where nor when. The command, its options and its script
 * must exist.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { commandHere } from "../../cli/aws/command-here.ts";
import { lookAtOptions } from "./cdk.ts";
import { root } from "./documented.ts";
import { lookAtProgram } from "./known-programs.ts";
import { parseCommand, type ShellCommand } from "./shell-line.ts";

/** Throws where the command names something that does not exist. */
export async function lookAtInline(command: string): Promise<void> {
  for (const part of partsOf(command)) {
    const [first = "", second = ""] = part.args;
    if (first === "sekisho") await lookAtOurs(part.args.slice(1));
    else if (first === "npx" && second === "cdk") lookAtOptions([part]);
    else if (first === "npm") lookAtNpm(part.args.slice(1));
    else if (first === "node")
      expect({ file: second, isThere: existsSync(join(root, second)) }).toMatchObject(isThere);
    else lookAtProgram(part);
  }
}

const isThere = { isThere: true };

/** `list|show` within a word is a choice of two words, not a pipe. */
function partsOf(command: string): ShellCommand[] {
  return parseCommand(command.replaceAll(/(?<=[a-z])\|(?=[a-z])/g, ","));
}

const helps = new Map<string, string>();

async function helpOf(args: string[]): Promise<string> {
  const name = args.join(" ");
  const help = helps.get(name) ?? (await commandHere([...args, "--help"], {})).stdout;
  helps.set(name, help);
  return help;
}

async function lookAtOurs(args: string[]): Promise<void> {
  const commands = [...(await helpOf([])).matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map(
    ([, name = ""]) => name,
  );
  const [first = "", second = "-"] = args;
  if (/^[<…]/.test(first)) return;
  if (second.startsWith("-") && commands.some((name) => name.startsWith(`${first} `))) return;
  const pairs = second.split(",").map((one) => `${first} ${one}`);
  const names = pairs.some((pair) => commands.includes(pair)) ? pairs : [first];
  expect(names.filter((name) => !commands.includes(name))).toEqual([]);
  for (const name of names) {
    const help = `${await helpOf(name.split(" "))} --help`;
    const options = args
      .filter((word) => /^--?[a-z]/.test(word))
      .map((word) => word.replace(/=.*/, ""));
    expect(options.filter((option) => !new RegExp(`(?<![\\w-])${option}\\b`).test(help))).toEqual(
      [],
    );
  }
}

const npmOwn: Record<string, string[]> = {
  ci: ["--omit"],
  version: ["--no-git-tag-version"],
  sbom: [],
  install: [],
  pack: [],
};

function lookAtNpm(args: string[]): void {
  const [verb = "", ...rest] = args;
  const own = npmOwn[verb];
  const end = rest.includes("--") ? rest.indexOf("--") : rest.length;
  if (own !== undefined) {
    expect(
      rest.filter((word) => word.startsWith("-") && !own.includes(word.replace(/=.*/, ""))),
    ).toEqual([]);
    return;
  }
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const name = verb === "run" ? rest.slice(0, end).find((word) => !word.startsWith("-")) : verb;
  expect(Object.keys(scripts)).toContain(name);
  const options = rest.slice(end + 1).filter((word) => word.startsWith("--"));
  const [, file = ""] = String(scripts[name ?? ""]).split(" ");
  const text = options.length === 0 ? "" : sourceOf(file);
  expect(options.filter((option) => !new RegExp(`["' -]${option.slice(2)}\\b`).test(text))).toEqual(
    [],
  );
}

/** The source of a script, with the file that reads its options. */
function sourceOf(file: string): string {
  const beside = [file, file.replace("run.ts", "run-script.ts")].map((name) => join(root, name));
  return beside.flatMap((name) => (existsSync(name) ? readFileSync(name, "utf8") : [])).join("\n");
}
