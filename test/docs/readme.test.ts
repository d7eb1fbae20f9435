/** README.md lists the commands: each that `sekisho --help` lists, and no other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { commandHere } from "../cli/aws/command-here.ts";
import { root } from "./commands/documented.ts";

it("README.md names every command of the help, and none that there is not", async () => {
  const { stdout } = await commandHere(["--help"], {});
  const commands = [...stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map(([, name = ""]) => name);
  const [, section = ""] = /^## Commands\n([\s\S]*?)^## /m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  const named = [...section.matchAll(/^\| `([^`]+)`/gm)].flatMap(([, usage = ""]) => namesIn(usage, commands));
  expect(commands.length).toBeGreaterThan(30);
  expect([...new Set(named)].sort()).toEqual([...commands].sort());
});

/** `tasks list \| show ID` are two; `send TEXT` is one. */
function namesIn(usage: string, commands: readonly string[]): string[] {
  const [first = "", ...rest] = usage.replaceAll(/\[[^\]]*\]/g, "").split(/[\s\\|]+/);
  const isGroup = commands.some((name) => name.startsWith(`${first} `));
  const seconds = rest.filter((word) => /^[a-z]+$/.test(word));
  return isGroup && seconds.length > 0 ? seconds.map((second) => `${first} ${second}`) : [first];
}
