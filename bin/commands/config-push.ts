/** `sekisho config push`: brings routes, and what of destinations needs no permission, to a stage without a deploy. */
import { parseArgs } from "node:util";
import * as z from "zod";
import { liveSettingsOf, needDeploy } from "../../lambdas/shared/config/live-settings.ts";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import { stageConfig } from "../../lambdas/shared/config/stage-config.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { jsonChanges } from "../aws/json-changes.ts";
import { maxBytes, readLiveParameter, standardBytes, writeLiveParameter } from "../aws/live-parameter.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage } from "../aws/stage.ts";
import { type Command, exitCodes } from "./command.ts";

export const configPush: Command = {
  help: `
sekisho config push [--stage NAME] [--dry-run] [--config FILE]

Brings the routes of the configuration, and of its destinations deadlineMs, dialect, idempotent, maxResponseBytes
and (with a bearer token) url, to a deployed stage. The workers see it within a minute; no deploy is needed.
Everything else of the file takes effect with the next deploy. A destination that is new, or is another one in
what needs permissions, is refused: "needs a deploy".

  --stage NAME   of the configuration's stages; without it the first
  --dry-run      only shows what would change
  --config FILE  instead of ./sekisho.config.json

Exit code: 0 done or nothing to do; 1 needs a deploy, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({
      args: words,
      options: { stage: { type: "string" }, "dry-run": { type: "boolean" }, config: { type: "string" } },
    });
    const config = loadConfig({ directory, file: values.config });
    const named = chooseStage(config, values.stage);
    const staged = stageConfig({ config, stageName: named.stageName });
    const outputs = await readStackOutputs({ ...named, signal });
    const changed = needDeploy({ config: staged, deployed: fingerprintsIn(outputs.deployedDestinations) });
    if (changed.length > 0) {
      note(`needs a deploy: ${changed.join(", ")}. Run npx cdk deploy --all -c stage=${named.stageName}.`);
      return exitCodes.failed;
    }
    const parameter = { name: outputs.routesParameter, region: named.stage.verification.region, signal };
    const settings = liveSettingsOf(staged);
    const text = JSON.stringify(settings);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) throw new AwsFailure(`The live settings are ${bytes} bytes; a parameter holds ${maxBytes}.`);
    const changes = jsonChanges({ before: jsonOf(await readLiveParameter(parameter)), after: JSON.parse(text) });
    if (changes.length === 0) {
      print("Nothing changes.");
      return exitCodes.success;
    }
    print(changes.join("\n"));
    if (bytes > standardBytes) note(`${bytes} bytes: this makes it an advanced parameter, at $0.05 a month.`);
    if (values["dry-run"]) return exitCodes.success;
    await writeLiveParameter({ ...parameter, text });
    print(`Written to ${parameter.name}. The workers of stage ${named.stageName} see it within a minute.`);
    return exitCodes.success;
  },
};

const fingerprintsSchema = z.record(z.string(), z.string());

function fingerprintsIn(output: string): Record<string, string> {
  const parsed = fingerprintsSchema.safeParse(jsonOf(output));
  if (!parsed.success) throw new AwsFailure("The stack's list of deployed destinations cannot be read; deploy again.");
  return parsed.data;
}

/** What is no JSON counts as nothing: it is replaced. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
