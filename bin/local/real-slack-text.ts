/** What a person does so that the real Slack reaches this machine, or what to type where it does. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { slackManifest } from "../../lambdas/verification/slack/manifest.ts";
import type { SlackIdentity } from "./socket-mode-identity.ts";

export function realSlackText({ port, config }: { port: number; config: Config }): string {
  const eventsUrl = "https://YOUR-TUNNEL.example/slack/events";
  const manifest = slackManifest({ name: "Sekisho", config, eventsUrl });
  return `
Slack must be able to reach this machine: point a tunnel at port ${port} and put its https address
in place of YOUR-TUNNEL.example below (or: npx sekisho manifest --url https://…). Then create the app from this manifest
(https://api.slack.com/apps, "Create New App", "From a manifest"), install it, and invite it to a channel.
Without a tunnel: Socket Mode, see docs/slack.md.

${JSON.stringify(manifest, null, 2)}

${whoMayAsk()}
`;
}

/** Said when the connection stands. */
export function socketModeText({ identity, config }: { identity: SlackIdentity; config: Config }): string {
  const { bot, team, teamId } = identity;
  const { command } = config.slack;
  const invite =
    config.allowlist.length === 0
      ? `The configuration's allowlist is empty, which means nobody. To let in everyone of ${team}:\n  npx sekisho allow add --team ${teamId}\n\n`
      : "";
  const slash = command === undefined ? "" : `, or type  ${command.name} hello`;
  return `
Connected to Slack over Socket Mode: @${bot} in ${team} (${teamId})

${invite}In a channel:  /invite @${bot}   and then   @${bot} hello
Or write to @${bot} directly${slash}.
${whoMayAsk()}
`;
}

/** Connected, but the token of every workspace comes by the installation flow. */
export function installText({ port }: { port: number }): string {
  return `
Connected to Slack over Socket Mode. A workspace installs the app at https://YOUR-TUNNEL.example/slack/install:
a browser must be able to reach port ${port} of this machine there, at the address of npx sekisho manifest --socket --url https://…
${whoMayAsk()}
`;
}

function whoMayAsk(): string {
  return "Whoever is refused reads which ids to add to the allowlist (npx sekisho allow add, or sekisho.config.json and a restart).";
}
