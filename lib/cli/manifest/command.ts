/** `sekisho manifest`: prints the manifest from which a Slack app is created. */
import { loadConfig } from "@sekisho/config/load.ts";
import { slackManifest } from "@sekisho/verification/slack/api/manifest.ts";
import { AwsFailure, lacksCredentials } from "../aws/aws-failure.ts";
import { chooseStage, type NamedStage, stageOptions } from "../aws/stage.ts";
import { type CommandRun, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";

const placeholderUrl = "https://YOUR-TUNNEL.example";

export const manifest = defineCommand({
  name: "manifest",
  about: `
Prints the Slack app manifest. To create an app from it, open the link that --open prints (also without the option on a
terminal), or https://api.slack.com/apps, "Create New App", "From a manifest". The manifest requests only the scopes that the configuration uses. When the configuration changes, print it
again and paste it under "App Manifest" of the app. It holds the address of a deployed stage, or a placeholder if the
configuration has no stages.`,
  options: {
    socket: flag(
      "for Socket Mode (sekisho start with SLACK_APP_TOKEN), which needs no public address",
    ),
    ...stageOptions,
    url: option(
      "URL",
      "the https address at which Slack reaches the Verification zone, without a path, instead of a stage",
    ),
    name: option("NAME", "the app's name, at most 35 characters (Sekisho)"),
    open: flag(
      "prints the link to Slack's form with this manifest too, to stderr; it opens nothing by itself",
    ),
  },
  async run(run) {
    const { values } = run;
    const { stage, url, name = "Sekisho", socket } = values;
    if (url !== undefined && URL.parse(url)?.protocol !== "https:") {
      throw new UsageError(`--url: "${url}" is not an https address.`);
    }
    if (url !== undefined && stage !== undefined)
      throw new UsageError("Give --stage or --url, not both.");
    if (name.length < 1 || name.length > 35)
      throw new UsageError("--name must have 1 to 35 characters.");
    const config = loadConfig({ directory: run.directory, file: values.config });
    // Socket Mode needs no address, so no stage is looked up.
    const hasStages = Object.keys(config.stages).length > 0;
    const isPlaceholder = url === undefined && stage === undefined && (socket || !hasStages);
    if (isPlaceholder && config.slack.install !== undefined) {
      throw new UsageError(
        "Give --url or --stage. With slack.install the manifest needs the address to which Slack redirects browsers.",
      );
    }
    const address = url ?? (isPlaceholder ? placeholderUrl : undefined);
    const eventsUrl =
      address === undefined
        ? await readEventsUrl(run, chooseStage(config, stage))
        : new URL("/slack/events", address).href;
    const slackApp = slackManifest({ name, config, eventsUrl, socket });
    run.print(JSON.stringify(slackApp, null, 2));
    if (values.open || process.stdout.isTTY) run.note(linkText(slackApp, isPlaceholder && !socket));
    return exitCodes.success;
  },
});

/** The form of Slack that a manifest fills in: https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests#sharing */
const formUrl = "https://api.slack.com/apps?new_app=1&manifest_json=";

function linkText(manifest: object, lacksAddress: boolean): string {
  if (lacksAddress)
    return "No link, because the manifest has no address yet. Give --socket, --url or --stage.";
  const link = `${formUrl}${encodeURIComponent(JSON.stringify(manifest))}`;
  return `\nCreate the app in a browser where you are signed in to Slack:\n${link}`;
}

/** Loads the CloudFormation client only when it is needed, because that takes a while. */
async function readEventsUrl({ signal }: CommandRun, namedStage: NamedStage): Promise<string> {
  const { readStackOutputs } = await import("../aws/stack-outputs.ts");
  const { eventsUrl } = await readStackOutputs({ ...namedStage, signal }).catch(
    (error: unknown) => {
      if (!(error instanceof AwsFailure) || !lacksCredentials(error)) throw error;
      throw new AwsFailure(`${error.message.replace(/\.$/, "")}, or give --url.`, { cause: error });
    },
  );
  return eventsUrl;
}
