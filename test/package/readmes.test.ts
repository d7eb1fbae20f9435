/** Each package that others import has a page with an example that runs. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { publishedPackages } from "../../bin/release/published.ts";
import { packages } from "../boundaries/packages.ts";
import { hangMs } from "../tooling/hang.ts";

const root = join(import.meta.dirname, "../..");
const readPage = (folder: string) => readFileSync(join(root, folder, "README.md"), "utf8");
const listExamples = (page: string) =>
  [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
const commandsOnly = publishedPackages.filter(({ entries }) => entries === undefined);

it.each(packages)("names $name in the title of its page", ({ name, folder }) => {
  expect(readPage(folder).startsWith(`# ${name}\n`)).toBe(true);
});

it.each(publishedPackages)("imports in the page of $name only what is installed", ({ folder }) => {
  const imported = [...readPage(folder).matchAll(/from "(@sekisho\/[^"]+)"/g)].map(
    ([, specifier]) => specifier,
  );
  const offered = publishedPackages.flatMap(({ name, entries = {} }) =>
    Object.keys(entries).map((subpath) => name + subpath.slice(1)),
  );
  expect(imported.filter((one) => !offered.includes(one ?? ""))).toEqual([]);
});

const imported = packages.filter(({ name }) => !commandsOnly.some((one) => one.name === name));

it.each(imported)("runs the example of $name", ({ folder }) => {
  const examples = listExamples(readPage(folder));
  expect(examples).toHaveLength(1);
  const args = ["--input-type=module-typescript", "--eval", examples.join("")];
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    timeout: hangMs,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).not.toBe("");
});
