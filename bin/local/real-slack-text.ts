/** What a person does so that the real Slack reaches this machine. */
import { slackManifest } from "../../lambdas/verification/slack/manifest.ts";

export function realSlackText({ port }: { port: number }): string {
  const manifest = slackManifest({ name: "Sekisho", eventsUrl: "https://YOUR-TUNNEL.example/slack/events" });
  return `
Slack must be able to reach this machine: point a tunnel at port ${port} and put its https address
in place of YOUR-TUNNEL.example below (or: npx sekisho manifest --url https://…). Then create the app from this manifest
(https://api.slack.com/apps, "Create New App", "From a manifest"), install it, and invite it to a channel.

${JSON.stringify(manifest, null, 2)}

Whoever is refused reads which ids to add to the allowlist in sekisho.config.json; restart after an edit.
`;
}
