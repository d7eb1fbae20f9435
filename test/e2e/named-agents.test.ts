/** Several agents in one Execution zone, each reached by a word at the beginning of the message. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { closeAfterTest } from "../doubles/serving.ts";
import { startZones } from "../world/started-zones.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-agents-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function writeAgent(name: string): string {
  const file = join(folder, `${name}.ts`);
  writeFileSync(
    file,
    `export const agent = async ({ text }: { text: string }) => "${name} read: " + text;\n`,
  );
  return file;
}

it("answers each message with the agent of its word, from one Execution zone without a further port", async () => {
  const zones = await startZones({
    config: {
      execution: { agents: { ops: writeAgent("ops"), research: writeAgent("research") } },
      routes: [{ word: "research", destination: "research" }, { destination: "ops" }],
    },
  });
  closeAfterTest(zones);
  const askAndRead = async (text: string) => {
    const { message, requestId } = zones.ask(text);
    await zones.over(requestId);
    return zones
      .answersTo(message)
      .map((answer) => answer.text)
      .join();
  };
  expect(await askAndRead("what is up")).toContain("ops read: what is up");
  expect(await askAndRead("research: what is a sekisho")).toContain(
    "research read: what is a sekisho",
  );
});
