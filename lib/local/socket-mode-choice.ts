/** Connects to the real Slack on one machine: over Socket Mode with an app token, otherwise over HTTP. */

import type { Config } from "@sekisho/config/schema.ts";
import { formatSecretName, hasSecret, readSecret } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { slackManifest } from "@sekisho/verification/slack/api/manifest.ts";
import { fetchSlackIdentity, type SlackIdentity } from "./socket-mode-identity.ts";

type Secret = () => Promise<string>;

export type RealSlack = {
  /** For the Verification zone. */
  access: {
    botToken: () => Promise<string | undefined>;
    signingSecret: Secret | undefined;
    appToken: Secret | undefined;
  };
  /** The next step for the user, once the zones run. */
  text(running: { port: number }): string;
};

/** Tries the bot token at once if Slack is reached over Socket Mode. Rejects with a message for the user. */
export async function openRealSlack({
  config,
  signal,
}: {
  config: Config;
  signal: AbortSignal;
}): Promise<RealSlack> {
  const { appToken, signingSecret, botToken, apiUrl } = config.slack;
  const reader = (reference: SecretReference): Secret | undefined =>
    hasSecret(reference) ? () => readSecret(reference) : undefined;
  const readBotToken = reader(botToken);
  const access = {
    botToken: async () => readBotToken?.(),
    signingSecret: reader(signingSecret),
    appToken: reader(appToken),
  };
  if (access.appToken === undefined)
    return { access, text: ({ port }) => realSlackText({ port, config }) };
  if (readBotToken === undefined) return { access, text: installText };
  const name = formatSecretName(botToken);
  const identity = await fetchSlackIdentity({ botToken: readBotToken, apiUrl, name, signal });
  return { access, text: () => socketModeText({ identity, config }) };
}

function realSlackText({ port, config }: { port: number; config: Config }): string {
  const eventsUrl = "https://YOUR-TUNNEL.example/slack/events";
  const manifest = slackManifest({ name: "Sekisho", config, eventsUrl });
  return `
Slack must be able to reach this machine: point a tunnel at port ${port} and put its https address
in place of YOUR-TUNNEL.example below (or: ${sekisho} manifest --url https://…). Then create the app from this manifest
(https://api.slack.com/apps, "Create New App", "From a manifest"), install it, and invite it to a channel.
Without a tunnel: Socket Mode, see docs/how-to/slack-app.md.

${JSON.stringify(manifest, null, 2)}

${allowlistHint()}
`;
}

function socketModeText({ identity, config }: { identity: SlackIdentity; config: Config }): string {
  const { bot, team, teamId } = identity;
  const { command } = config.slack;
  const invite =
    config.allowlist.length === 0
      ? `Nobody may ask yet: the allowlist is empty. To allow everyone in ${team}:\n  ${sekisho} allow add --team ${teamId}\n\n`
      : "";
  const slash = command === undefined ? "" : `, or type  ${command.name} hello`;
  return `
Connected to Slack over Socket Mode: @${bot} in ${team} (${teamId})

${invite}In a channel:  /invite @${bot}   and then   @${bot} hello
Or write to @${bot} directly${slash}.
${allowlistHint()}
`;
}

/** There is no bot token yet: each workspace gets one from the installation flow. */
function installText({ port }: { port: number }): string {
  return `
Connected to Slack over Socket Mode. A workspace installs the app at https://YOUR-TUNNEL.example/slack/install.
Point a tunnel at port ${port}, and make the manifest with its address: ${sekisho} manifest --socket --url https://…
${allowlistHint()}
`;
}

function allowlistHint(): string {
  return `If someone is refused, ${sekisho} tasks show REFERENCE (the reference in the refusal) shows the ids of team,
channel and user, and ${sekisho} allow why with these prints the command that adds a rule to the allowlist.`;
}
