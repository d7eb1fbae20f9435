/** `sekisho manifest`: the manifest from which a Slack app is created. */
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import { slackManifest } from "../../lambdas/verification/slack/api/manifest.ts";
import { AwsFailure, lacksCredentials } from "../../lib/cli/aws/aws-failure.ts";
import { chooseStage, type NamedStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { type CommandRun, defineCommand, exitCodes, flag, option, UsageError } from "../../lib/cli/command.ts";

const placeholderUrl = "https://YOUR-TUNNEL.example";

export const manifest = defineCommand({
  name: "manifest",
  about: `
Prints the Slack app manifest: https://api.slack.com/apps, "Create New App", "From a manifest". It asks for what the
configuration uses and nothing else: print it again when that changes, and paste it under "App Manifest". Its address is
that of a deployed stage; without stages in the configuration it is a placeholder.`,
  options: {
    socket: flag("for Socket Mode: Slack needs no address of yours (sekisho start with SLACK_APP_TOKEN)"),
    ...stageOptions,
    url: option(
      "URL",
      "instead of a stage: the https address at which Slack reaches the Verification zone, without a path",
    ),
    name: option("NAME", "the app's name, at most 35 characters (Sekisho)"),
  },
  async run(run) {
    const { values } = run;
    const { stage, url, name = "Sekisho", socket } = values;
    if (url !== undefined && URL.parse(url)?.protocol !== "https:") {
      throw new UsageError(`--url: "${url}" is no https address.`);
    }
    if (url !== undefined && stage !== undefined) throw new UsageError("--stage or --url, not both.");
    if (name.length < 1 || name.length > 35) throw new UsageError("--name: 1 to 35 characters.");
    const config = loadConfig({ directory: run.directory, file: values.config });
    // Socket Mode needs no address, so no stage is asked for one.
    const hasStages = Object.keys(config.stages).length > 0;
    const isPlaceholder = url === undefined && stage === undefined && (socket || !hasStages);
    if (isPlaceholder && config.slack.install !== undefined) {
      throw new UsageError(
        "--url or --stage is needed: with slack.install the manifest says where Slack sends browsers.",
      );
    }
    const address = url ?? (isPlaceholder ? placeholderUrl : undefined);
    const eventsUrl =
      address === undefined
        ? await readEventsUrl(run, chooseStage(config, stage))
        : new URL("/slack/events", address).href;
    run.print(JSON.stringify(slackManifest({ name, config, eventsUrl, socket }), null, 2));
    return exitCodes.success;
  },
});

/** The client of CloudFormation is loaded only for a stage. */
async function readEventsUrl({ signal }: CommandRun, named: NamedStage): Promise<string> {
  const { readStackOutputs } = await import("../../lib/cli/aws/stack-outputs.ts");
  const { eventsUrl } = await readStackOutputs({ ...named, signal }).catch((thrown: unknown) => {
    if (!(thrown instanceof AwsFailure) || !lacksCredentials(thrown)) throw thrown;
    throw new AwsFailure(`${thrown.message.replace(/\.$/, "")}, or give --url.`, { cause: thrown });
  });
  return eventsUrl;
}
