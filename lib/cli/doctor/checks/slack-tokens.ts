/** Does Slack take the bot token, and whose is it? */
import { formatSecretName } from "../../../../lambdas/shared/config/secrets.ts";
import { toPrintable } from "../../../../lambdas/verification/checks/question.ts";
import { botScopes } from "../../../../lambdas/verification/slack/api/manifest.ts";
import { tokenRefusalText } from "../../../local/socket-mode-identity.ts";
import { askSlack } from "../ask-slack.ts";
import { type Check, type Finding, failedFinding, okFinding, skippedFinding, warningFinding } from "../check.ts";
import { isHeaderSafe, type SlackSide } from "../slack-side.ts";

/** `timeoutMs`: where the usual time is too short. */
export function botToken({ slack, timeoutMs }: { slack: SlackSide; timeoutMs?: number }): Check {
  const { botToken: reference, apiUrl, install } = slack.config.slack;
  const name = formatSecretName(reference);
  const whereFrom = tokenRefusalText({ error: "not_allowed_token_type", kind: "bot" });
  return {
    name: "bot token",
    ...(timeoutMs !== undefined && { timeoutMs }),
    async run() {
      const identity = await slack.identity();
      if ("missing" in identity) return skippedFinding(withoutToken({ missing: identity.missing, install }));
      if ("unreadable" in identity) return unreadable({ name, error: identity.unreadable, install });
      if ("unfit" in identity) return failedFinding(`${name} is no bot token: that is ${identity.unfit}.`, whereFrom);
      if ("unreachable" in identity) return unreachable(apiUrl);
      const { error, fields } = identity.answer;
      return error === undefined ? okFinding(identityText(fields)) : refused({ name, error, kind: "bot" });
    },
  };
}

/** What is said of every token that Slack does not take. */
function refused({ name, error, kind }: { name: string; error: string; kind: "app" | "bot" }): Finding {
  const what = `Slack does not take ${name} (${error}).`;
  if (error === "ratelimited") return warningFinding(what, "It asks for fewer calls: try again in a minute.");
  return failedFinding(what, tokenRefusalText({ error, kind }));
}

function unreachable(apiUrl: string): Finding {
  const { origin } = new URL(apiUrl);
  const remedy = "Is this machine online, with a way out through its firewall or proxy; is slack.apiUrl right?";
  return failedFinding(`Slack is not to be reached at ${origin}, or something else answers there.`, remedy);
}

function unreadable({ name, error, install }: { name: string; error: string; install: unknown }): Finding {
  const missing = `The deployed worker cannot read ${name} (${error}).`;
  if (install !== undefined) return skippedFinding(withoutToken({ missing, install }));
  return failedFinding(
    missing,
    "npx sekisho secrets put writes it; the role may read it once the stage is deployed so.",
  );
}

function withoutToken({ missing, install }: { missing: string; install: unknown }): string {
  return install === undefined ? missing : `${missing} Workspaces get tokens of their own at /slack/install.`;
}

/** Slack's words go to a terminal. */
function identityText({ user, team, team_id }: Record<string, unknown>): string {
  const [bot, name, id] = [user, team, team_id].map((text) => toPrintable(typeof text === "string" ? text : "unknown"));
  return `@${bot} in ${name} (${id}).`;
}

// Would Slack open a connection of Socket Mode for the app token? It is asked for an address, and nobody connects.

export function appToken({ slack }: { slack: SlackSide }): Check {
  const { appToken: reference, apiUrl } = slack.config.slack;
  const name = formatSecretName(reference);
  return {
    name: "app token",
    async run({ signal }) {
      const token = await slack.secret(reference);
      if ("missing" in token) return skippedFinding(`${token.missing} Only Socket Mode needs it.`);
      const { value } = token;
      if (!value.startsWith("xapp-") || !isHeaderSafe(value)) {
        const remedy = tokenRefusalText({ error: "not_allowed_token_type", kind: "app" });
        return failedFinding(`${name} is no app token.`, remedy);
      }
      const answer = await askSlack({ method: "apps.connections.open", token: value, apiUrl, signal });
      if (answer === undefined) return unreachable(apiUrl);
      if (answer.error !== undefined) return refused({ name, error: answer.error, kind: "app" });
      return okFinding("Slack would open a connection of Socket Mode.");
    },
  };
}

// Does the bot token have every scope that the configuration makes necessary?

/** `manifestText` names the command that prints the manifest. */
export function tokenScopes({
  slack,
  manifestText,
  timeoutMs,
}: {
  slack: SlackSide;
  manifestText: string;
  timeoutMs?: number;
}): Check {
  return {
    name: "token scopes",
    ...(timeoutMs !== undefined && { timeoutMs }),
    async run() {
      const identity = await slack.identity();
      if (!("answer" in identity) || identity.answer.error !== undefined) {
        return skippedFinding("That is known when Slack takes the bot token.");
      }
      const { scopes } = identity.answer;
      if (scopes === undefined) return skippedFinding("Slack did not say which ones the token has.");
      const needed = botScopes(slack.config);
      const missing = needed.filter((scope) => !scopes.includes(scope));
      if (missing.length === 0) return okFinding(`All ${needed.length} are there.`);
      const remedy = `Paste what ${manifestText} prints under "App Manifest" of the app, and reinstall the app ("Install App").`;
      return failedFinding(`Missing: ${missing.join(", ")}.`, remedy);
    },
  };
}
