/** What `sekisho smoke` refuses before it sends anything. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { twoAccounts } from "../aws/a-stage.ts";
import { commandsInFolder } from "../commands-in-folder.ts";

const { folder, run } = commandsInFolder();

describe("sekisho smoke", () => {
  it.each([
    ["without a channel", ["--stage", "prod", "--user", "U012AB3CD"], "--channel is needed"],
    [
      "with a name for a channel",
      ["--stage", "prod", "--channel", "#general", "--user", "U1AB"],
      "--channel is needed",
    ],
    ["without a person", ["--stage", "prod", "--channel", "C012AB3CD"], "--user is needed"],
    ["without a stage", ["--channel", "C012AB3CD", "--user", "U012AB3CD"], "--stage is needed"],
    ["of a stage that is not there", ["--stage", "dev", "--channel", "C012AB3CD", "--user", "U012AB3CD"], "dev"],
    [
      "of a stage with an agent of its own",
      ["--stage", "prod", "--channel", "C012AB3CD", "--user", "U012AB3CD"],
      'only the agent "echo" can be told to wait',
    ],
  ])("exits with 2 %s", async (_title, words, text) => {
    const config = join(folder, "stage.json");
    writeFileSync(config, JSON.stringify(twoAccounts));
    const ended = await run(["smoke", ...words, "--config", config]);
    expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(text) });
  });

  it("says what a stage without an Execution zone lacks", async () => {
    const config = join(folder, "external.json");
    const stages = { prod: { ...twoAccounts.stages.prod, execution: { kind: "external" } } };
    const destinations = { far: twoAccounts.destinations.far };
    writeFileSync(config, JSON.stringify({ destinations, routes: [{ destination: "far" }], stages }));
    const words = ["--stage", "prod", "--channel", "C012AB3CD", "--user", "U012AB3CD"];
    const ended = await run(["smoke", ...words, "--config", config]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("no Execution zone of its own") });
  });
});
