/** `sekisho manifest`: the manifest from which a Slack app is created. */
import { parseArgs } from "node:util";
import { slackManifest } from "../../lambdas/verification/slack/manifest.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

const placeholderUrl = "https://YOUR-TUNNEL.example";

export const manifest: Command = {
  help: `
sekisho manifest [--url URL] [--name NAME]

Prints the Slack app manifest: https://api.slack.com/apps, "Create New App", "From a manifest".

  --url URL     the https address at which Slack reaches the Verification zone, without a path
  --name NAME   the app's name, at most 35 characters (Sekisho)
`,
  async run({ words, print }) {
    const { values } = parseArgs({ args: words, options: { url: { type: "string" }, name: { type: "string" } } });
    const { url = placeholderUrl, name = "Sekisho" } = values;
    if (URL.parse(url)?.protocol !== "https:") throw new UsageError(`--url: "${url}" is no https address.`);
    if (name.length < 1 || name.length > 35) throw new UsageError("--name: 1 to 35 characters.");
    print(JSON.stringify(slackManifest({ name, eventsUrl: new URL("/slack/events", url).href }), null, 2));
    return exitCodes.success;
  },
};
