/** Does Slack take the bot token, and whose is it? */
import { nameOfSecret } from "../../../lambdas/shared/config/secret-in-hand.ts";
import { printable } from "../../destinations/question.ts";
import { refusalWords } from "../../local/socket-mode-refused.ts";
import { type Check, type Finding, failed, ok, skipped, warning } from "../check.ts";
import type { SlackSide } from "../slack-side.ts";

export function botToken({ slack }: { slack: SlackSide }): Check {
  const { botToken: reference, apiUrl, install } = slack.config.slack;
  const name = nameOfSecret(reference);
  const whereFrom = refusalWords({ error: "not_allowed_token_type", kind: "bot" });
  return {
    name: "bot token",
    async run() {
      const identity = await slack.identity();
      if ("missing" in identity) return skipped(withoutToken({ missing: identity.missing, install }));
      if ("unfit" in identity) return failed(`${name} is no bot token: that is ${identity.unfit}.`, whereFrom);
      if ("unreachable" in identity) return unreachable(apiUrl);
      const { error, fields } = identity.answer;
      return error === undefined ? ok(identityWords(fields)) : refused({ name, error, kind: "bot" });
    },
  };
}

/** What is said of every token that Slack does not take. */
export function refused({ name, error, kind }: { name: string; error: string; kind: "app" | "bot" }): Finding {
  const what = `Slack does not take ${name} (${error}).`;
  if (error === "ratelimited") return warning(what, "It asks for fewer calls: try again in a minute.");
  return failed(what, refusalWords({ error, kind }));
}

export function unreachable(apiUrl: string): Finding {
  const { origin } = new URL(apiUrl);
  const remedy = "Is this machine online, with a way out through its firewall or proxy; is slack.apiUrl right?";
  return failed(`Slack is not to be reached at ${origin}, or something else answers there.`, remedy);
}

function withoutToken({ missing, install }: { missing: string; install: unknown }): string {
  return install === undefined ? missing : `${missing} Workspaces get tokens of their own at /slack/install.`;
}

/** Slack's words go to a terminal. */
function identityWords({ user, team, team_id }: Record<string, unknown>): string {
  const [bot, name, id] = [user, team, team_id].map((text) => printable(typeof text === "string" ? text : "unknown"));
  return `@${bot} in ${name} (${id}).`;
}
