/** Every command of ours that a document names exists, with the options that stand beside it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { projectScripts } from "@sekisho/sekisho/init/files.ts";
import { commands } from "@sekisho/sekisho/main.ts";
import { pages, root, textOf } from "./pages.ts";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** What follows `sekisho` or `npm run` in code, up to the end of the command. */
function namedCommands(text: string, program: "sekisho" | "npm run"): string[] {
  const code = [...text.matchAll(/```[\s\S]*?```|`[^`]+`/g)].map(([span]) => span);
  const start = `(?:^|[\`;(]|&& |npx (?:--no-install )?|[A-Z_]+=\\S+ )${program} `;
  const pattern = new RegExp(
    `${start}(?=[a-z])((?:[^\`|&#\\n\\\\]|\\\\\\n|\\\\\\||\\|(?=\\w))+)`,
    "gm",
  );
  return code.flatMap((span) => [...span.matchAll(pattern)].map(([, words = ""]) => words));
}

function splitWords(words: string): string[] {
  return words.trim().split(/[\s\\]+/);
}

/** The problems of what stands behind `sekisho`: `tasks list|show --stage dev`. */
async function findProblems(words: string): Promise<string[]> {
  const [first = "", second = "", ...rest] = splitWords(words.replaceAll("\\|", "|"));
  const pairs = second.split("|").map((one) => `${first} ${one}`);
  const isPair = pairs.some((name) => name in commands);
  // `sekisho allow` names all commands of the group.
  const isGroup = Object.keys(commands).some((name) => name.startsWith(`${first} `));
  if (isGroup && (second === "" || second.startsWith("-"))) return [];
  const names = isPair ? pairs : [first];
  const options = (isPair ? rest : [second, ...rest]).filter((word) => /^--[a-z]/.test(word));
  const problems = names.map(async (name) => {
    const entry = commands[name];
    if (entry === undefined) return [name];
    const known = [...(await entry.load()).options.map((one) => one.name.split(" ")[0]), "--help"];
    return options
      .map((option) => option.replace(/[=,.].*/, ""))
      .filter((option) => !known.includes(option));
  });
  return (await Promise.all(problems)).flat();
}

describe("the documents", () => {
  it.each(pages)("the document %s names only existing commands and options", async (page) => {
    const text = textOf(page);
    for (const words of namedCommands(text, "sekisho"))
      expect({ words, problems: await findProblems(words) }).toEqual({ words, problems: [] });
    for (const words of namedCommands(text, "npm run"))
      expect(Object.keys({ ...scripts, ...projectScripts })).toContain(
        splitWords(words).find((word) => !word.startsWith("-")),
      );
  });

  it.each([
    ["`sekisho task list`", ["task"]],
    ["`npx --no-install sekisho tasks list|shew --stage dev`", ["tasks shew"]],
    ["```sh\nA=b sekisho tasks show ID --stag dev   # why\n```", ["--stag"]],
    ["`sekisho tasks list\\|show --stage dev`, `sekisho allow`", []],
  ])("finds the unknown commands and options in the Markdown %s", async (text, problems) => {
    const [words = ""] = namedCommands(text, "sekisho");
    expect(await findProblems(words)).toEqual(problems);
  });
});
