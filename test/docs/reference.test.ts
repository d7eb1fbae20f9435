/** The reference of commands and configuration says what the help and the schemas say. */
import { describe, expect, it } from "@jest/globals";
import { environmentVariables } from "@sekisho/config/environment.ts";
import { configJsonSchema } from "@sekisho/config/json-schema.ts";
import {
  keyRows,
  type Section,
  sectionsOf,
  variableRows,
} from "../../bin/reference/config-keys.ts";
import { replaceGenerated } from "../../bin/reference/markdown.ts";
import { referencePages } from "../../bin/reference/pages.ts";
import { commandHere } from "../cli/aws/command-here.ts";
import { sectionOf, tablesIn, textOf } from "./pages.ts";

const commandsPage = textOf("docs/reference/commands.md");
const configurationPage = textOf("docs/reference/configuration.md");

it("the reference pages match the output of `npm run docs`", async () => {
  const pages = await referencePages(textOf);
  expect([...pages.keys()]).toEqual([
    "docs/reference/commands.md",
    "docs/reference/configuration.md",
  ]);
  for (const [path, text] of pages) expect({ path, text: textOf(path) }).toEqual({ path, text });
});

it("keeps the beginning of a page, and refuses a page without a generated part", () => {
  const [head = ""] = commandsPage.split("<!--");
  const changed = replaceGenerated({ page: commandsPage, content: "new" });
  expect(changed.startsWith(head)).toBe(true);
  expect(changed).toMatch(/-->\n\nnew\n$/);
  expect(() => replaceGenerated({ page: head, content: "new" })).toThrow("has no line");
});

describe("docs/reference/commands.md", () => {
  it("lists exactly the commands of the help", async () => {
    const { stdout } = await commandHere(["--help"], {});
    const commands = [...stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map(([, name = ""]) => name);
    const headings = [...commandsPage.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(commands.length).toBeGreaterThan(30);
    expect(headings).toEqual(commands);
  });

  it("describes a command as its help does", async () => {
    const { stdout } = await commandHere(["tasks", "cancel", "--help"], {});
    const section = sectionOf(commandsPage, "## tasks cancel");
    const options = [...stdout.matchAll(/^ {2}(--[a-z]+(?: [A-Z]+)?) {2}/gm)].map(
      ([, name]) => `\`${name}\``,
    );
    const sharedNames = (/^Also: (.+)\.$/m.exec(section)?.[1] ?? "").split(", ");
    const ownNames = tablesIn(section)[0]?.map(([name]) => name) ?? [];
    expect(ownNames).toEqual(["`--wait`", "`--json`"]);
    expect([...ownNames, ...sharedNames]).toEqual(options);
    expect(section).toMatch(/If the result comes\s+first, it becomes the answer\./);
    expect(section).toMatch(/^Exit code 1: no such task, it has ended, it did not end in time\.$/m);
  });

  it("describes each option of several commands once", () => {
    const [, sharedRows = []] = tablesIn(commandsPage.split("\n## ")[0] ?? "").slice(1);
    const names = sharedRows.map(([name = ""]) => name);
    expect(names).toContain("`--config FILE`");
    const lists = [...commandsPage.matchAll(/^(?:Also|Options): (.+)\.$/gm)].flatMap(
      ([, list = ""]) => list.split(", "),
    );
    expect(lists.filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe("docs/reference/configuration.md", () => {
  const schema = JSON.parse(configJsonSchema());
  const sections: Section[] = sectionsOf(schema);

  it("lists every key of the configuration with its meaning", () => {
    const keys = [...new Set(keysOf(schema))].filter(
      (key) => !["$schema", "type", "transport", "kind"].includes(key),
    );
    const rows = sections.flatMap(keyRows);
    const names = new Set([
      ...sections.map(({ name }) => name),
      ...rows.flatMap(([path = ""]) => path.replaceAll(/`|\[\]/g, "").split(/[.,\s]+/)),
    ]);
    expect(keys.length).toBeGreaterThan(150);
    // A secret has a section of its own, which is written by hand.
    expect(
      keys.filter((key) => !names.has(key) && !["env", "secretsManager"].includes(key)),
    ).toEqual([]);
    expect(rows.filter((row) => (row.at(-1) ?? "").length < 5)).toEqual([]);
  });

  it.each([
    [
      "slack",
      "`shortcut.name`",
      ["string, 1–24 characters", '"Ask about this", or the same in Japanese where locale is ja'],
    ],
    ["limits", "`leaseMs`", ["integer, 500–3600000", "`60000` (1 minute)"]],
    ["routes", "`destination`", ["string or list of strings, 1–8 entries", "required"]],
    ["destinations", "`runtimeArn`", ["`agentcore`", "string", "required"]],
    ["destinations", "`deadlineMs`", ["all", "integer, 1000–28800000", "`14400000` (4 hours)"]],
    ["authorizer", "`token`", ["`bearer`", "[secret](#secrets)", "required"]],
    ["allowlist", "`external`", ["`channels` or `people`", "neither"]],
  ])("documents type, bounds and default of the key %s %s", (name, path, cells) => {
    const section = sections.find((one) => one.name === name);
    const row = section === undefined ? [] : keyRows(section).find(([first]) => first === path);
    expect(row?.slice(1, -1)).toEqual(cells);
  });

  it("lists the environment variables of the local commands", () => {
    const [rows = []] = tablesIn(sectionOf(configurationPage, "## Environment variables"));
    expect(rows.map(([name]) => name)).toEqual(
      Object.keys(environmentVariables).map((name) => `\`${name}\``),
    );
    expect(variableRows(environmentVariables)[0]?.slice(0, 2)).toEqual([
      "`SEKISHO_PORT`",
      "`3000`",
    ]);
    expect(rows.filter((row) => (row.at(-1) ?? "") === "")).toEqual([]);
  });
});

function keysOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { properties?: Record<string, unknown> };
  const inner = Object.entries(schema).flatMap(([name, value]) =>
    name === "properties" ? [] : keysOf(value),
  );
  return [...Object.keys(properties), ...Object.values(properties).flatMap(keysOf), ...inner];
}
