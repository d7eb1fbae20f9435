/** Does the bot token have every scope that the configuration makes necessary? */
import { botScopes } from "../../../lambdas/verification/slack/bot-scopes.ts";
import { type Check, failed, ok, skipped } from "../check.ts";
import type { SlackSide } from "../slack-side.ts";

/** `manifestWords` is the command that prints the manifest. */
export function tokenScopes({ slack, manifestWords }: { slack: SlackSide; manifestWords: string }): Check {
  return {
    name: "token scopes",
    async run() {
      const identity = await slack.identity();
      if (!("answer" in identity) || identity.answer.error !== undefined) {
        return skipped("That is known when Slack takes the bot token.");
      }
      const { scopes } = identity.answer;
      if (scopes === undefined) return skipped("Slack did not say which ones the token has.");
      const needed = botScopes(slack.config);
      const missing = needed.filter((scope) => !scopes.includes(scope));
      if (missing.length === 0) return ok(`All ${needed.length} are there.`);
      const remedy = `Paste what ${manifestWords} prints under "App Manifest" of the app, and reinstall the app ("Install App").`;
      return failed(`Missing: ${missing.join(", ")}.`, remedy);
    },
  };
}
