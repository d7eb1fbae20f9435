/** Commands within the documents' sentences are ones that there are. */
import { describe, expect, it } from "@jest/globals";
import { inlineCommands } from "./commands/documented.ts";
import { lookAtInline } from "./commands/inline.ts";

const inline = [...new Map(inlineCommands().map((one) => [one.command, one])).values()];

describe("a command within a sentence", () => {
  it("is found, in a table and over the end of a line, too", () => {
    expect(inline.length).toBeGreaterThan(70);
    const commands = inline.map(({ command }) => command);
    expect(commands).toContain("npx sekisho config push");
    expect(commands).toContain("npx sekisho tasks list|show|cancel|retry");
  });

  it.each(inline)("is one that there is: $command ($page)", ({ command }) => lookAtInline(command), 120_000);

  it.each([
    "npx sekisho task list",
    "npx sekisho tasks list|shew",
    "npx sekisho trace ID --log x",
    "npx cdk deploy --everything",
    "npm run documents",
    "npm run release -- --frost",
    "npm version --tag",
    "docker run --read-alone x",
    "ssh -Q host",
    "git tug v1",
    "node bin/release/bom.ts",
  ])("is none where it is misspelt: %s", async (command) => {
    await expect(lookAtInline(command)).rejects.toThrow();
  });
});
