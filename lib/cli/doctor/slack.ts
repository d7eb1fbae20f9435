/** The checks of Slack's side, the same on one machine and in a stage: tokens, entry, signing secret and allowlist. */

import { randomUUID } from "node:crypto";
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import type { AllowlistRule, Config } from "../../../lambdas/shared/config/schema.ts";
import { formatSecretName } from "../../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { botIdentity } from "../../../lambdas/verification/checks/bot-identity.ts";
import { toPrintable } from "../../../lambdas/verification/checks/health-requests.ts";
import type { BotAnswer } from "../../../lambdas/verification/checks/operator-call.ts";
import { hasManyWorkspaces } from "../../../lambdas/verification/gate/border.ts";
import {
  botScopes,
  contextScopes,
  requiredScopes,
} from "../../../lambdas/verification/slack/api/manifest.ts";
import { callWebApi, toSlackError } from "../../../lambdas/verification/slack/api/web-call.ts";
import { describeHeldSecret } from "../../local/slack-secrets.ts";
import { tokenRefusalText } from "../../local/socket-mode-identity.ts";
import { lacksCredentials } from "../aws/aws-failure.ts";
import { findExpectedShape } from "../aws/secret-shape.ts";
import {
  type Check,
  CheckEnded,
  type Finding,
  failed,
  need,
  ok,
  row,
  skipped,
  warning,
} from "./check.ts";
import { askEntry } from "./http.ts";

const callTimeoutMs = 10_000;

export type ReadSecret = (reference: SecretReference) => Promise<string>;

/** Rejects with a CheckEnded that says why the secret cannot be read. It does not repeat the error, which may be AWS's text. */
export async function requireSecret(
  reference: SecretReference,
  readSecret: ReadSecret,
  hint = "",
): Promise<string> {
  const stop = (why: string) =>
    new CheckEnded(skipped(`${formatSecretName(reference)} ${why}.${hint}`));
  const value = await readSecret(reference).catch((thrown: unknown) => {
    if ("env" in reference) throw stop("is not set here");
    throw stop(
      `cannot be read${lacksCredentials(thrown) ? ": there are no AWS credentials here" : " with these credentials"}`,
    );
  });
  if (value.trim() === "") throw stop("is empty");
  return value.trim();
}

/** Asks Slack whose this machine's bot token is. Rejects with a CheckEnded where there is no token to ask with. */
export async function askIdentity(
  { slack }: Config,
  readSecret: ReadSecret,
  signal: AbortSignal,
): Promise<BotAnswer> {
  const token = await requireSecret(slack.botToken, readSecret, installHint(slack));
  const expected = findExpectedShape({ use: "bot token", value: token });
  // A value of another shape may be another secret, so it is sent nowhere.
  if (expected !== undefined) {
    const what = `${formatSecretName(slack.botToken)} is not a bot token, which is ${expected}.${heldText(token)}`;
    throw new CheckEnded(
      failed(what, tokenRefusalText({ error: "not_allowed_token_type", kind: "bot" })),
    );
  }
  return botIdentity({
    readToken: async () => token,
    apiUrl: slack.apiUrl,
    timeoutMs: callTimeoutMs,
    signal,
  });
}

/** Names a secret that is in the wrong variable, by its form. */
function heldText(value: string): string {
  const held = describeHeldSecret(value);
  return held === undefined ? "" : ` It holds ${held}.`;
}

/** A bot token may be missing where workspaces install the app. */
function installHint({ install }: Config["slack"]): string {
  return install === undefined ? "" : " Workspaces get tokens of their own at /slack/install.";
}

function unreachable({ apiUrl }: Config["slack"]): Finding {
  const remedy = "Check this machine's network, firewall and proxy, and slack.apiUrl.";
  return failed(
    `Slack cannot be reached at ${new URL(apiUrl).origin}, or something else answers there.`,
    remedy,
  );
}

function refused({
  name,
  error,
  kind,
}: {
  name: string;
  error: string;
  kind: "app" | "bot";
}): Finding {
  const what = `Slack does not accept ${name} (${error}).`;
  if (error === "ratelimited")
    return warning(what, "Slack wants fewer calls. Try again in a minute.");
  return failed(what, tokenRefusalText({ error, kind }));
}

type TokenSource = {
  config: Config;
  identity: () => Promise<BotAnswer>;
  manifestCommand: string;
  timeoutMs?: number;
};

/** `identity` rejects with a CheckEnded where Slack was not asked. */
export function tokenChecks({
  config,
  identity,
  manifestCommand,
  timeoutMs = 30_000,
}: TokenSource): Check[] {
  const { slack } = config;
  const scopesUnknown = "Slack does not accept the bot token, so its scopes are unknown.";
  const answered = need(identity, scopesUnknown);
  return [
    row({
      name: "bot token",
      timeoutMs,
      needs: identity,
      check(bot) {
        const name = formatSecretName(slack.botToken);
        switch (bot.state) {
          case "unreadable": {
            const what = `The deployed worker cannot read ${name} (${bot.error}).`;
            if (slack.install !== undefined) return skipped(`${what}${installHint(slack)}`);
            return failed(
              what,
              `${sekisho} secrets put writes it. The next deploy lets the worker's role read it.`,
            );
          }
          case "unreachable":
            return unreachable(slack);
          case "refused":
            return refused({ name, error: bot.error, kind: "bot" });
          case "accepted": {
            const [user, team, id] = [bot.user, bot.team, bot.teamId].map(toPrintable);
            return ok(`@${user} in ${team} (${id}).`);
          }
        }
      },
    }),
    row({
      name: "token scopes",
      timeoutMs,
      needs: answered,
      check(bot) {
        if (bot.state !== "accepted") return skipped(scopesUnknown);
        const { scopes } = bot;
        if (scopes === undefined) return skipped("Slack did not say which scopes the token has.");
        const isMissing = (scope: string) => !scopes.includes(scope);
        const missing = requiredScopes(config).filter(isMissing);
        const unnamed = contextScopes(config).filter(isMissing);
        if (missing.length + unnamed.length === 0) {
          return ok(`The token has all ${botScopes(config).length} that are needed.`);
        }
        const remedy = `Paste what ${manifestCommand} prints under "App Manifest" of the app, and reinstall the app ("Install App").`;
        if (missing.length > 0) return failed(`Missing: ${missing.join(", ")}.`, remedy);
        return warning(
          `Missing: ${unnamed.join(", ")}. Agents get ids in place of names (slack.context).`,
          remedy,
        );
      },
    }),
    row({
      name: "agent experience",
      timeoutMs,
      needs: answered,
      check(bot) {
        if (bot.state !== "accepted" || bot.scopes === undefined) return skipped(scopesUnknown);
        const isDeclared = bot.scopes.includes("assistant:write");
        if (slack.assistant === undefined) {
          if (!isDeclared) return ok("The app is not declared as an agent.");
          const remedy = "Set slack.assistant, so that conversations get prompts and a status.";
          return warning(
            "The app is declared as an agent, and the configuration does not use that.",
            remedy,
          );
        }
        if (isDeclared) return ok("The app is declared as an agent.");
        const remedy = `Paste what ${manifestCommand} prints under "App Manifest" of the app, and reinstall it.`;
        return failed(
          "The app is not declared as an agent, and slack.assistant needs that.",
          remedy,
        );
      },
    }),
  ];
}

/** Asks Slack for an address of Socket Mode. Nothing connects to it. */
export function appTokenCheck({ slack }: Config, readSecret: ReadSecret): Check {
  const name = formatSecretName(slack.appToken);
  return {
    name: "app token",
    async run(signal) {
      const token = await requireSecret(slack.appToken, readSecret, " Only Socket Mode needs it.");
      if (!token.startsWith("xapp-")) {
        const remedy = tokenRefusalText({ error: "not_allowed_token_type", kind: "app" });
        return failed(`${name} is not an app token.${heldText(token)}`, remedy);
      }
      const call = {
        token: async () => token,
        apiUrl: slack.apiUrl,
        args: {},
        timeoutMs: callTimeoutMs,
        signal,
      };
      try {
        await callWebApi({ ...call, method: "apps.connections.open" });
        return ok("Slack would open a Socket Mode connection.");
      } catch (thrown) {
        const { kind, slackError } = toSlackError(thrown);
        const error = kind === "rate_limited" ? "ratelimited" : slackError;
        return error === undefined ? unreachable(slack) : refused({ name, error, kind: "app" });
      }
    },
  };
}

/** The endpoint of Slack's events under test. The other fields are sentences for a person; `name` begins one. */
export type Entry = {
  url: string;
  name: string;
  /** The remedy if nothing answers. */
  start: string;
  /** The remedy if the entry has a wrong secret, or none. */
  setSecret: string;
  readLog: string;
  /** True for a zone that may use Socket Mode, which needs no signing secret. */
  mayLackSecret: boolean;
};

const whereSecretIs = 'It is under "Basic Information", "App Credentials" of the app.';

type EntrySource = {
  /** The signing secret. */
  reference: SecretReference;
  readSecret: ReadSecret;
  open: () => Promise<Entry>;
  now?: () => number;
};

/** `open` rejects with a CheckEnded where there is no entry to look at. */
export function entryChecks({ reference, readSecret, open, now = Date.now }: EntrySource): {
  entry: Check;
  signingSecret: Check;
} {
  const name = formatSecretName(reference);
  const entry = row({
    name: "entry",
    needs: open,
    async check({ url, name, start, setSecret, readLog, mayLackSecret }, signal) {
      const status = (await askEntry({ url, challenge: randomUUID(), signal }))?.status;
      if (status === undefined) return failed(`Nothing answers at ${url}.`, start);
      if (status === 401) return ok(`${name} refuses an unsigned request.`);
      if (status === 200) {
        const remedy = "Take it off the network, because it is not an entry of Sekisho.";
        return failed(`${url} accepts an unsigned request.`, remedy);
      }
      if (status === 500 && mayLackSecret)
        return ok(`${name} accepts nothing over HTTP, as with Socket Mode.`);
      if (status === 500) return failed(`${name} has no signing secret (HTTP 500).`, setSecret);
      return failed(`${url} answers HTTP ${status}, and not 401, to an unsigned request.`, readLog);
    },
  });
  const signingSecret = row({
    name: "signing secret",
    needs: async () => ({
      signingSecret: await requireSecret(reference, readSecret),
      entry: await open(),
    }),
    async check(
      { signingSecret, entry: { url, name: entryName, start, setSecret, readLog } },
      signal,
    ) {
      const challenge = randomUUID();
      const request = { url, challenge, signingSecret, signal };
      // Twice the age that an entry may accept.
      const longAgo = () => now() - 600_000;
      const [signed, stale] = await Promise.all([
        askEntry({ ...request, now }),
        askEntry({ ...request, now: longAgo }),
      ]);
      if (signed === undefined || stale === undefined)
        return failed(`Nothing answers at ${url}.`, start);
      const { status } = signed;
      if (status === 401) {
        const remedy = `${setSecret} ${whereSecretIs} If it is the right one, check this machine's clock.`;
        return failed(
          `${entryName} does not accept a request that is signed with ${name}.`,
          remedy,
        );
      }
      if (status === 500)
        return failed(`${entryName} has no signing secret (HTTP 500).`, setSecret);
      if (status !== 200)
        return failed(`${entryName} answers HTTP ${status} to a signed event.`, readLog);
      if (signed.body !== challenge)
        return failed(`The server at ${url} does not understand Slack's events.`, readLog);
      if (stale.status !== 401) {
        const what = `${entryName} accepts a request that was signed ten minutes ago (HTTP ${stale.status}).`;
        return failed(what, `${readLog} Check its clock.`);
      }
      const expected = findExpectedShape({ use: "signing secret", value: signingSecret });
      const accepts = `${entryName} accepts a request that is signed with ${name}`;
      if (expected === undefined) return ok(`${accepts}, unless it is old.`);
      return warning(
        `${accepts}, but Slack's secrets are ${expected}.`,
        `Is it the app's own? ${whereSecretIs}`,
      );
    },
  });
  return { entry, signingSecret };
}

type AllowlistSource = {
  config: Pick<Config, "allowlist" | "slack">;
  /** The rules of `sekisho allow`. */
  added: () => Promise<readonly AllowlistRule[]>;
  stageOption: string;
};

/** An empty allowlist lets nobody in, which looks in Slack as if nothing worked. A rule that names no workspace may count nowhere. */
export function allowlistCheck({ config, added, stageOption }: AllowlistSource): Check {
  return row({
    name: "who may ask",
    needs: added,
    check(rules) {
      const configured = config.allowlist.length;
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
      if (configured + rules.length > 0)
        return ok(
          `${configured} ${configured === 1 ? "rule" : "rules"} in the configuration, ${rules.length} added by sekisho allow.`,
        );
      const command = `${sekisho} allow add --team T012AB3CD${stageOption}`;
      return warning("Nobody: there is no rule.", `Run ${command} with your workspace's ID.`);
    },
  });
}
