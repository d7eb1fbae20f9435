/** Every command in a block of the documents has one entry, and every command within a sentence exists. */
import { describe, expect, it } from "@jest/globals";
import { cdkCommands } from "./commands/cdk.ts";
import { documentedCommands, inlineCommands, inlineCommandsIn } from "./commands/documented.ts";
import { elsewhere } from "./commands/elsewhere.ts";
import { endpoints } from "./commands/endpoints.ts";
import { exampleLooks, exampleRuns } from "./commands/examples.ts";
import { lookAtInline } from "./commands/inline.ts";
import { oneMachine } from "./commands/one-machine.ts";
import { packages } from "./commands/packages.ts";
import { restoreCommands } from "./commands/restore.ts";
import { commandLines, parseCommand } from "./commands/shell-line.ts";
import { stage } from "./commands/stage.ts";
import { vouched } from "./commands/vouched.ts";

const looked = [...cdkCommands, ...packages, ...elsewhere, ...restoreCommands, ...exampleLooks];
const entries = [...oneMachine, ...endpoints, ...vouched, ...stage, ...exampleRuns, ...looked].map(
  ({ command }) => command,
);

describe("the commands in blocks", () => {
  it("have one entry each, and each entry has one", () => {
    const documented = [...new Set(documentedCommands().map(({ command }) => command))];
    expect(documented.length).toBeGreaterThan(50);
    expect([...entries].sort()).toEqual(documented.sort());
  });

  it.each(looked)(
    "are checked as far as possible where they cannot be run: $command",
    ({ command, look }) => look(parseCommand(command)),
  );
});

const inline = [...new Map(inlineCommands().map((one) => [one.command, one])).values()];

describe("a command within a sentence", () => {
  it("is found, also in a table and across the end of a line", () => {
    expect(inline.length).toBeGreaterThan(70);
    const text =
      "Run `sekisho config\n  push`, not `config.ts`.\n\n| `sekisho tasks list\\|show` | `tasks` |\n";
    expect(inlineCommandsIn(text)).toEqual(["sekisho config push", "sekisho tasks list|show"]);
  });

  it.each(inline)("exists: $command ($page)", ({ command }) => lookAtInline(command));

  it.each([
    "sekisho task list",
    "sekisho tasks list|shew",
    "sekisho tasks show ID --log x",
    "npx sekisho tasks list",
    "npx cdk deploy --everything",
    "npm run documents",
    "npm run release -- --frost",
    "npm version --tag",
    "docker run --read-alone x",
    "ssh -Q host",
    "git tug v1",
    "node bin/release/bom.ts",
  ])("is refused where it is misspelt: %s", async (command) => {
    await expect(lookAtInline(command)).rejects.toThrow();
  });
});

describe("the reader of a shell's block", () => {
  it("finds whole commands: without comments, with continued lines, and with quotes", () => {
    const block = "a --b \\\n  c   # why\n\n# nothing\nd 'e\n# f' | \n  g \"#h\"\ni#j";
    expect(commandLines(block)).toEqual(["a --b c", "d 'e # f' | g \"#h\"", "i#j"]);
    expect(parseCommand("A=b X=$(c d) e 'f g'h && i | j")).toEqual([
      { env: { A: "b", X: "$(c d)" }, args: ["e", "f gh"] },
      { env: {}, args: ["i"] },
      { env: {}, args: ["j"] },
    ]);
  });

  it("refuses a quote that never ends", () => {
    expect(() => commandLines('a "b')).toThrow("never ends");
  });
});
