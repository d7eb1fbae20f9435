/** The checks of Slack's side, the same on one machine and in a stage: tokens, scopes and allowlist. */

import type { Config } from "@sekisho/config/schema.ts";
import { formatSecretName } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { tokenRefusalText } from "@sekisho/local/socket-mode-identity.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { botIdentity } from "@sekisho/verification/checks/bot-identity.ts";
import { toPrintable } from "@sekisho/verification/checks/health-requests.ts";
import type { BotAnswer } from "@sekisho/verification/checks/operator-call.ts";
import { hasManyWorkspaces } from "@sekisho/verification/gate/border.ts";
import {
  botScopes,
  contextScopes,
  emailScopes,
  requiredScopes,
} from "@sekisho/verification/slack/api/manifest.ts";
import { callWebApi, toSlackError } from "@sekisho/verification/slack/api/web-call.ts";
import { lacksCredentials } from "../aws/aws-failure.ts";
import { findExpectedShape } from "../aws/secret-shape.ts";
import { describeHeldSecret, isPlaceholder } from "../slack-secrets.ts";
import { CheckEnded, type Finding, failure, need, ok, skip, warning } from "./check.ts";
import type { Subject } from "./targets.ts";

const timeoutMs = 10_000;

/** Rejects with a CheckEnded that says why the secret cannot be read. It does not repeat the error, which may be AWS's text. */
export async function requireSecret(
  reference: SecretReference,
  readSecret: Subject["readSecret"],
  hint = "",
): Promise<string> {
  const stop = (why: string) =>
    new CheckEnded(skip(`${formatSecretName(reference)} ${why}.${hint}`));
  const value = await readSecret(reference).catch((error: unknown) => {
    if ("env" in reference) throw stop("is not set here");
    const why = lacksCredentials(error)
      ? ": there are no AWS credentials here"
      : " with these credentials";
    throw stop(`cannot be read${why}`);
  });
  if (value.trim() === "") throw stop("is empty");
  if (isPlaceholder(value)) {
    const what = `${formatSecretName(reference)} is still the placeholder of an example.`;
    throw new CheckEnded(failure(what, "Write the real value in its place."));
  }
  return value.trim();
}

/** Asks Slack whose this machine's bot token is. Rejects with a CheckEnded where there is no token to ask with. */
export async function askIdentity({
  config: { slack },
  readSecret,
  signal,
}: Pick<Subject, "config" | "readSecret" | "signal">): Promise<BotAnswer> {
  const token = await requireSecret(slack.botToken, readSecret, installHint(slack));
  const expectedShape = findExpectedShape({ use: "bot token", value: token });
  // A value of another shape may be another secret, so it is sent nowhere.
  if (expectedShape !== undefined) {
    const what = `${formatSecretName(slack.botToken)} is not a bot token, which is ${expectedShape}.${heldText(token)}`;
    const remedy = tokenRefusalText({ error: "not_allowed_token_type", kind: "bot" });
    throw new CheckEnded(failure(what, remedy));
  }
  return botIdentity({ readToken: async () => token, apiUrl: slack.apiUrl, timeoutMs, signal });
}

/** Names a secret that is in the wrong variable, by its form. */
function heldText(value: string): string {
  const secretKind = describeHeldSecret(value);
  return secretKind === undefined ? "" : ` It holds ${secretKind}.`;
}

/** A bot token may be missing where workspaces install the app. */
function installHint({ install }: Config["slack"]): string {
  return install === undefined ? "" : " Workspaces get tokens of their own at /slack/install.";
}

function unreachable({ apiUrl }: Config["slack"]): Finding {
  const what = `Slack cannot be reached at ${new URL(apiUrl).origin}, or something else answers there.`;
  return failure(what, "Check this machine's network, firewall and proxy, and slack.apiUrl.");
}

function toRefusal(reference: SecretReference, error: string, kind: "app" | "bot"): Finding {
  const what = `Slack does not accept ${formatSecretName(reference)} (${error}).`;
  if (error === "ratelimited")
    return warning(what, "Slack wants fewer calls. Try again in a minute.");
  return failure(what, tokenRefusalText({ error, kind }));
}

export async function checkBotToken({ config: { slack }, bot }: Subject): Promise<Finding> {
  const answer = await bot();
  if (answer.state === "unreachable") return unreachable(slack);
  if (answer.state === "refused") return toRefusal(slack.botToken, answer.error, "bot");
  if (answer.state === "accepted") {
    const [user, team, id] = [answer.user, answer.team, answer.teamId].map(toPrintable);
    return ok(`@${user} in ${team} (${id}).`);
  }
  const what = `The deployed worker cannot read ${formatSecretName(slack.botToken)} (${answer.error}).`;
  if (slack.install !== undefined) return skip(`${what}${installHint(slack)}`);
  const remedy = `${sekisho} secrets put writes it. The next deploy lets the worker's role read it.`;
  return failure(what, remedy);
}

const refusedText = "Slack does not accept the bot token, so this was not checked.";

/** A token with the scope `assistant:write` belongs to an app that is declared as an agent. */
export async function checkScopes({ config, bot }: Subject): Promise<Finding> {
  const answer = await need(bot(), refusedText);
  if (answer.state !== "accepted") return skip(refusedText);
  const { scopes } = answer;
  if (scopes === undefined) return skip("Slack did not say which scopes the token has.");
  const isMissing = (scope: string) => !scopes.includes(scope);
  const missing = requiredScopes(config).filter(isMissing);
  if (missing.length > 0) return failure(`Missing: ${missing.join(", ")}.`);
  const losses = [
    [contextScopes(config), "Agents get ids in place of names (slack.context)."],
    [emailScopes(config), "Destinations get no e-mail addresses (asker.claims)."],
  ] as const;
  const missingLosses = losses.filter(([wantedScopes]) => wantedScopes.some(isMissing));
  if (missingLosses.length > 0) {
    const missingScopes = new Set(
      missingLosses.flatMap(([wantedScopes]) => wantedScopes.filter(isMissing)),
    );
    return warning(
      [`Missing: ${[...missingScopes].join(", ")}.`, ...missingLosses.map(([, loss]) => loss)].join(
        " ",
      ),
    );
  }
  if (scopes.includes("assistant:write") && config.slack.assistant === undefined) {
    const what = "The app is declared as an agent, and the configuration does not use that.";
    return warning(what, "Set slack.assistant, so that conversations get prompts and a status.");
  }
  return ok(`The token has all ${botScopes(config).length} that are needed.`);
}

/** Asks Slack for an address of Socket Mode. Nothing connects to it. */
export async function checkAppToken(subject: Subject): Promise<Finding> {
  const { config, readSecret, signal } = subject;
  const { appToken, apiUrl } = config.slack;
  const token = await requireSecret(appToken, readSecret, " Only Socket Mode needs it.");
  if (!token.startsWith("xapp-")) {
    const remedy = tokenRefusalText({ error: "not_allowed_token_type", kind: "app" });
    return failure(`${formatSecretName(appToken)} is not an app token.${heldText(token)}`, remedy);
  }
  const call = { token: async () => token, apiUrl, args: {}, timeoutMs, signal };
  try {
    await callWebApi({ ...call, method: "apps.connections.open" });
    return ok("Slack would open a Socket Mode connection.");
  } catch (cause) {
    const { kind, slackError } = toSlackError(cause);
    const error = kind === "rate_limited" ? "ratelimited" : slackError;
    return error === undefined ? unreachable(config.slack) : toRefusal(appToken, error, "app");
  }
}

/** An empty allowlist lets nobody in, which looks in Slack as if nothing worked. A rule that names no workspace may count nowhere. */
export async function checkAllowlist(subject: Subject): Promise<Finding> {
  const { config, storedRules, stageOption } = subject;
  const rules = await storedRules();
  const configuredCount = config.allowlist.length;
  const idle = hasManyWorkspaces(config)
    ? rules.filter(({ team }) => team === undefined).length
    : 0;
  if (idle > 0) {
    const what = `${idle} of ${rules.length} rules that sekisho allow added ${idle === 1 ? "names" : "name"} no workspace and let nobody in, because slack.install lets several install the app.`;
    const list = `${sekisho} allow list${stageOption}`;
    return warning(
      what,
      `Run ${list}, add each of them again with --team, and remove the old ones.`,
    );
  }
  if (configuredCount + rules.length === 0) return warning("Nobody: there is no rule.");
  const word = configuredCount === 1 ? "rule" : "rules";
  return ok(
    `${configuredCount} ${word} in the configuration, ${rules.length} added by sekisho allow.`,
  );
}
