/** Every command of the documents is claimed by one entry; what cannot be run here is looked at as far as it goes. */
import { describe, expect, it } from "@jest/globals";
import { awsCommands } from "./commands/aws.ts";
import { cdkCommands } from "./commands/cdk.ts";
import { documentedCommands } from "./commands/documented.ts";
import { elsewhere } from "./commands/elsewhere.ts";
import { endpoints } from "./commands/endpoints.ts";
import { oneMachine } from "./commands/one-machine.ts";
import { packages } from "./commands/packages.ts";
import { restoreCommands } from "./commands/restore.ts";
import { commandLines, parseCommand } from "./commands/shell-line.ts";
import { stage } from "./commands/stage.ts";
import { vouched } from "./commands/vouched.ts";

const looked = [...packages, ...elsewhere, ...awsCommands, ...restoreCommands];
const entries = [...oneMachine, ...endpoints, ...vouched, ...stage, ...cdkCommands, ...looked].map(
  ({ command }) => command,
);

describe("the commands of the documents", () => {
  it("are each claimed by one entry, and each entry claims one", () => {
    const documented = [...new Set(documentedCommands().map(({ command }) => command))];
    expect(documented.length).toBeGreaterThan(50);
    expect([...entries].sort()).toEqual(documented.sort());
  });

  it.each(looked)("are looked at where they are not run: $command", ({ command, look }) => {
    look(parseCommand(command));
  });
});

describe("what is read of a shell's block", () => {
  it("is whole commands: without comments, with lines that go on, and quotes", () => {
    const block = "a --b \\\n  c   # why\n\n# nothing\nd 'e\n# f' | \n  g \"#h\"\ni#j";
    expect(commandLines(block)).toEqual(["a --b c", "d 'e # f' | g \"#h\"", "i#j"]);
    expect(parseCommand("A=b X=$(c d) e 'f g'h && i | j")).toEqual([
      { env: { A: "b", X: "$(c d)" }, words: ["e", "f gh"] },
      { env: {}, words: ["i"] },
      { env: {}, words: ["j"] },
    ]);
  });

  it("is refused where a quote never ends", () => {
    expect(() => commandLines('a "b')).toThrow("never ends");
  });
});
