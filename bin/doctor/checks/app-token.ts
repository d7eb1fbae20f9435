/** Would Slack open a connection of Socket Mode for the app token? It is asked for an address, and nobody connects. */
import { nameOfSecret } from "../../../lambdas/shared/config/secret-in-hand.ts";
import { refusalWords } from "../../local/socket-mode-refused.ts";
import { askSlack } from "../ask-slack.ts";
import { type Check, failed, ok, skipped } from "../check.ts";
import { fitsHeader, type SlackSide } from "../slack-side.ts";
import { refused, unreachable } from "./bot-token.ts";

export function appToken({ slack }: { slack: SlackSide }): Check {
  const { appToken: reference, apiUrl } = slack.config.slack;
  const name = nameOfSecret(reference);
  return {
    name: "app token",
    async run({ signal }) {
      const token = await slack.secret(reference);
      if ("missing" in token) return skipped(`${token.missing} Only Socket Mode needs it.`);
      const { value } = token;
      if (!value.startsWith("xapp-") || !fitsHeader(value)) {
        const remedy = refusalWords({ error: "not_allowed_token_type", kind: "app" });
        return failed(`${name} is no app token.`, remedy);
      }
      const answer = await askSlack({ method: "apps.connections.open", token: value, apiUrl, signal });
      if (answer === undefined) return unreachable(apiUrl);
      if (answer.error !== undefined) return refused({ name, error: answer.error, kind: "app" });
      return ok("Slack would open a connection of Socket Mode.");
    },
  };
}
