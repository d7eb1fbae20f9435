/** `sekisho config check` lists every problem of a file at once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { checkConfig } from "@sekisho/sekisho/config/check-config.ts";
import { checkSyntax } from "@sekisho/sekisho/config/config-syntax.ts";
import { commandsInFolder } from "./commands-in-folder.ts";

const { folder, run } = commandsInFolder();

function problemsIn(text: string): string[] {
  writeFileSync(join(folder, "checked.json"), text);
  try {
    checkConfig({ directory: folder, file: "checked.json" });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe("a configuration with a byte order mark", () => {
  it("accepts a byte order mark, and reports the right places after it", () => {
    expect(problemsIn('\uFEFF{ "files": { "maxCount": 3 } }')).toEqual([]);
    expect(problemsIn('\uFEFF{ "files": {}, }')).toEqual([
      "line 1, column 16: the comma before this is one too many",
    ]);
  });
});

describe("config check", () => {
  it("names the routes whose word the agent does not get, until they set keepsWord", async () => {
    const routes = [
      { word: "far", destination: "local" },
      { word: "own", keepsWord: true, destination: "local" },
    ];
    writeFileSync(join(folder, "words.json"), JSON.stringify({ routes }));
    const result = await run(["config", "check", "--config", "words.json"]);
    expect(JSON.stringify(result)).toContain(
      "without the words of their routes (far:). Set keepsWord",
    );
    writeFileSync(join(folder, "words.json"), JSON.stringify({ routes: routes.slice(1) }));
    expect(JSON.stringify(await run(["config", "check", "--config", "words.json"]))).not.toContain(
      "keepsWord",
    );
  });
});

describe("the syntax of a configuration", () => {
  it("lists every syntax error of a configuration with its place", () => {
    const text = `{
  // a comment
  "allowlist": [{ "team": "T1" },],
  "files": { "maxCount": 3 }
  "limits": { "leaseMs": 60000, },
  "slack": { "locale": 'en' }
}`;
    const places = checkSyntax(text).problems.map((line) => line.replace(/: .*/, ""));
    expect(places).toEqual(
      expect.arrayContaining([
        "line 2, column 3",
        "line 3, column 34",
        "line 5, column 3",
        "line 5, column 33",
        "line 6, column 24",
      ]),
    );
  });

  it.each([
    ['{ "a": 1, }', "line 1, column 11: the comma before this is one too many"],
    ['{ "a": [1, ] }', "line 1, column 12: the comma before this is one too many"],
    ['{ "a": 1\n"b": 2 }', "line 2, column 1: a comma is missing before this"],
    ['{ "a" 1 }', "line 1, column 7: a colon is missing after the key"],
    ['{ "a": 1', "line 1, column 9: a } is missing"],
    ['{ "a": }', "line 1, column 8: a value is missing here"],
    [
      "{ a: 1 }",
      expect.stringMatching(
        /^line 1, column 3: this is not JSON: keys and texts need double quotes/,
      ),
    ],
    ['{ } { "a": 1 }', "line 1, column 5: the file must end here"],
  ])("explains the syntax error in %j", (text, line) => {
    expect(checkSyntax(text).problems[0]).toEqual(line);
    expect(() => JSON.parse(text)).toThrow();
  });

  it("lists one error for a meaningless line, and continues with the next line", () => {
    const places = checkSyntax('{ a: 1,\n"b": 2,\n"c": three }').problems.map((line) =>
      line.replace(/: .*/, ""),
    );
    expect(places).toEqual(["line 1, column 3", "line 3, column 6"]);
  });

  it("never quotes the text, because a secret may be in it", () => {
    const problems = problemsIn(
      '{ "slack": { "botToken": xoxb-1-secret, "appToken": "xapp-1-secret } }',
    );
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join()).not.toMatch(/xoxb|xapp/);
  });
});

describe("the problems of a configuration", () => {
  it("lists errors of the content beside those of the syntax if the syntax is unambiguous", () => {
    const problems = problemsIn(
      '{ "files": { "maxCount": -1 }, /* none yet */ "routes": [{ "destination": "frr", }] }',
    );
    expect(problems).toEqual([
      expect.stringMatching(/^line 1, column \d+: JSON has no comments$/),
      expect.stringMatching(/^line 1, column \d+: the comma before this is one too many$/),
      expect.stringMatching(/^files\.maxCount: /),
      expect.stringMatching(/^routes\[0\]\.destination: there is no destination "frr"/),
    ]);
  });

  it("lists repeated keys, unknown keys, wrong values and a missing agent file together", () => {
    const text = `{ "files": { "maxCount": 1, "maxCount": -1 }, "alowlist": [], "execution": { "agent": "./none.ts" } }`;
    expect(problemsIn(text)).toEqual([
      "files.maxCount: appears more than once; keep one",
      expect.stringMatching(/^files\.maxCount: (?!appears)/),
      'alowlist: unknown key; did you mean "allowlist"?',
      expect.stringMatching(/^execution\.agent: the file .*none\.ts does not exist$/),
    ]);
    expect(problemsIn(`{ "execution": { "agent": "./none.ts" } }`)).toHaveLength(1);
  });

  it("reports no problem for a valid file", () => {
    expect(problemsIn("{}")).toEqual([]);
  });

  it("prints all problems and exits with 2", async () => {
    const file = join(folder, "broken.json");
    writeFileSync(file, '{ "files": { "maxCount": -1, }, "routes": [{ "destination": "frr" }] }');
    const result = await run(["config", "check", "--config", file]);
    expect(result.code).toBe(2);
    expect(result.stderr.split("\n").filter((line) => line.startsWith("  - "))).toHaveLength(3);
  });
});
