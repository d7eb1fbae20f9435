import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { commandHere } from "./aws/command-here.ts";
import { commandsInFolder } from "./commands-in-folder.ts";

const { folder, run } = commandsInFolder();

function check(json: unknown) {
  const file = join(folder, "checked.json");
  writeFileSync(file, JSON.stringify(json));
  return commandHere(["config", "check", "--config", file], {});
}

describe("sekisho config check", () => {
  it("says that every default holds where the folder has no file", async () => {
    const ended = await run(["config", "check"]);
    expect(ended.code).toBe(0);
    const text = `There is no sekisho.config.json in ${realpathSync(folder)}, so every default is in effect.`;
    expect(ended.stdout).toContain(text);
  });

  it("says which file it read, which agent answers, and where each stage is", async () => {
    const verification = { account: "111111111111", region: "eu-central-1" };
    const ended = await check({
      execution: { agent: { type: "bedrock", modelId: "eu.a-model" } },
      stages: {
        dev: { verification },
        prod: { verification, execution: { kind: "lambda", account: "222222222222" }, alarmEmail: "a@example.org" },
      },
    });
    expect(ended.code).toBe(0);
    for (const text of [
      join(folder, "checked.json"),
      "Agent: bedrock, eu.a-model.",
      "Stage dev: Verification in 111111111111, eu-central-1; Execution agentcore in 111111111111, eu-central-1.",
      "Execution lambda in 222222222222, eu-central-1.",
    ]) {
      expect(ended.stdout).toContain(text);
    }
    expect(ended.stderr).toContain("the alarms of stage dev notify nobody. Set alarmEmail");
    expect(ended.stderr).not.toContain("stage prod");
  });

  it("says which of Slack's secrets are not set: with an installation flow its client secret, and not the bot token", async () => {
    const byHand = await check({});
    expect(byHand.stderr).toContain("SLACK_BOT_TOKEN is not set here");
    expect(byHand.stderr).toContain("only rules of sekisho allow add let somebody ask");
    const byFlow = await check({
      slack: { install: { clientId: "1.2", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    });
    expect(byFlow.stderr).toContain("SLACK_CLIENT_SECRET is not set here");
    expect(byFlow.stderr).not.toContain("SLACK_BOT_TOKEN");
  });

  it("exits with 2 where the agent's file is not there", async () => {
    const ended = await check({ execution: { agent: "./nothing-here.ts" } });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("nothing-here.ts does not exist") });
  });
});
