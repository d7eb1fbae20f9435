/** Commands about a stage on AWS, against doubles of AWS on this machine. */
import { expect } from "@jest/globals";
import { executionAccount, verificationAccount } from "../../cli/aws/a-stage.ts";
import { onlyPart, type RunEntry } from "./entry.ts";
import type { StageWorld } from "./stage-world.ts";

/** Succeeds and prints the text. */
function says(command: string, text: string): RunEntry<StageWorld> {
  return {
    command,
    async run({ parts, world }) {
      const { code, stdout, stderr } = await world.run(onlyPart(parts), { env: world.env });
      expect({ code, said: stdout + stderr }).toEqual({
        code: 0,
        said: expect.stringContaining(text),
      });
    },
  };
}

export const stage: RunEntry<StageWorld>[] = [
  {
    command: "npx --no-install sekisho secrets put",
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: { ...world.env, ...world.secrets } });
      expect(ended).toMatchObject({ code: 0 });
      expect([...world.aws.secrets.all.keys()]).toContain("sekisho/dev/SLACK_SIGNING_SECRET");
      for (const [name, value] of Object.entries(world.secrets)) {
        expect(ended.stdout + ended.stderr).not.toContain(value);
        world.aws.secrets.all.set(`sekisho/prod/${name}`, { value });
      }
    },
  },
  {
    command: "AWS_PROFILE=second npx --no-install sekisho secrets put",
    async run({ parts, world }) {
      const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _key, ...rest } = world.env;
      const env = { ...rest, MODEL_KEY: "a-key-of-the-model" };
      world.aws.account = executionAccount;
      world.after(() => {
        world.aws.account = verificationAccount;
      });
      expect(await world.run(onlyPart(parts), { env })).toMatchObject({ code: 0 });
      expect([...world.aws.secrets.all.keys()]).toContain("sekisho/dev/MODEL_KEY");
    },
  },
  {
    command: "npx --no-install sekisho secrets put --only SLACK_BOT_TOKEN --overwrite --stage dev",
    async run({ parts, world }) {
      const SLACK_BOT_TOKEN = "xoxb-a-new-token";
      const ended = await world.run(onlyPart(parts), { env: { ...world.env, SLACK_BOT_TOKEN } });
      expect(ended).toMatchObject({ code: 0 });
      const { all } = world.aws.secrets;
      expect(all.get("sekisho/dev/SLACK_BOT_TOKEN")).toMatchObject({ value: SLACK_BOT_TOKEN });
      // The fake Slack of the next commands knows the first token.
      all.set("sekisho/dev/SLACK_BOT_TOKEN", { value: world.secrets.SLACK_BOT_TOKEN ?? "" });
    },
  },
  says("npx --no-install sekisho config push --dry-run --stage dev", "routes[0].destination"),
  says("npx --no-install sekisho config push --stage dev", "routes[0].destination"),
  says("npx --no-install sekisho manifest --stage dev", "/slack/events"),
  says("npx --no-install sekisho allow add --team T012AB3CD --stage dev", "T012AB3CD"),
  says("npx --no-install sekisho allow list --stage dev", "T012AB3CD"),
  says(
    "npx --no-install sekisho allow why --team T012AB3CD --channel C012AB3CD --user U012AB3CD --stage dev",
    "T012AB3CD",
  ),
  says("npx --no-install sekisho dead-letters list --stage dev", "no dead letters"),
  {
    command: "npx --no-install sekisho dead-letters redrive --all --stage dev",
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: world.env });
      expect(ended).toMatchObject({ code: 0, stdout: "" });
    },
  },
  says(
    'npx --no-install sekisho allow add --channel C012AB3CD --label "everybody in #release" --stage prod',
    "C012AB3CD",
  ),
  says(
    'npx --no-install sekisho allow add --team T012AB3CD --group S012AB3CD --label "platform team" --stage prod',
    "S012AB3CD",
  ),
  says("npx --no-install sekisho doctor --destination python --stage dev", "1 ok"),
  says("npx --no-install sekisho destinations list --stage dev", "python"),
  says("npx --no-install sekisho tasks list --stage dev", "no such tasks in stage dev"),
  says(
    "npx --no-install sekisho destinations set python --channel C012AB3CD --stage dev",
    "python",
  ),
  says("npx --no-install sekisho federation enable --stage dev", "https://"),
  says("npx --no-install sekisho federation show --stage dev", "https://"),
  says("npx --no-install sekisho usage --stage dev", "no finished tasks in stage dev"),
  says(
    "npx --no-install sekisho usage --from 2026-11-01 --to 2026-11-30 --csv --out usage.csv --stage dev",
    "usage.csv",
  ),
  says(
    "npx --no-install sekisho data show --team T012AB3CD --user U012AB3CD --stage dev",
    "T012AB3CD/U012AB3CD in stage dev",
  ),
  says(
    "npx --no-install sekisho data delete --team T012AB3CD --user U012AB3CD --dry-run --stage dev",
    "T012AB3CD/U012AB3CD in stage dev",
  ),
  says(
    "npx --no-install sekisho data delete --team T012AB3CD --user U012AB3CD --yes --stage dev",
    "T012AB3CD/U012AB3CD in stage dev",
  ),
  {
    command: "npx --no-install sekisho doctor --stage dev",
    async run({ parts, world }) {
      const { code, stdout } = await world.run(onlyPart(parts), { env: world.env });
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("stage dev") });
    },
  },
];
