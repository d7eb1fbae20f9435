/** The bot tokens of a Verification zone on one machine, and the flow with which further workspaces install the app. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Config } from "@sekisho/config/schema.ts";
import { hasSecret, readSecret } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Page } from "@sekisho/verification/ingress/server.ts";
import { createFindTeam } from "@sekisho/verification/installations/find-team.ts";
import { createInstallationFile } from "@sekisho/verification/installations/installation-file.ts";
import { createBotTokens } from "@sekisho/verification/installations/installations.ts";
import { createMemoryLedger } from "@sekisho/verification/oauth/ledger.ts";
import { createOauth } from "@sekisho/verification/oauth/oauth.ts";
import { botScopes } from "@sekisho/verification/slack/api/manifest.ts";
import type { BotTokens } from "@sekisho/verification/slack/api/slack.ts";

/** A rotated client secret is used after this time. */
const secretKeepMs = 60_000;

export type SlackInstallation = { tokens: BotTokens; page: Page };

type InstallationOptions = {
  config: Config;
  dataFolder: string;
  /** Undefined if all tokens come from the flow. */
  botToken: () => Promise<string | undefined>;
  apiUrl: string;
  log: Log;
};

/** Without `slack.install` there is one token, and no flow. */
export function openSlackInstallation(options: InstallationOptions): SlackInstallation {
  const { config, dataFolder, botToken, apiUrl, log } = options;
  const { install } = config.slack;
  if (install === undefined) return { tokens: createBotTokens({ botToken }), page: () => false };
  const installations = createInstallationFile({ file: join(dataFolder, "installations.json") });
  // Anybody may open the page, and each read may be a call to Secrets Manager.
  const clientSecret = createCachedSecret({
    readSecret: () => readSecret(install.clientSecret),
    readTimeoutMs: 2000,
    keepMs: secretKeepMs,
  });
  const oauth = createOauth({
    clientId: install.clientId,
    clientSecret: clientSecret.current,
    scopes: botScopes(config),
    installations,
    ledger: createMemoryLedger({ maxPerDay: install.maxPerDay }),
    teams: install.teams,
    stateSalt: randomUUID(),
    apiUrl,
    log,
  });
  return {
    tokens: createBotTokens({ botToken, installations, teamOf: createFindTeam({ apiUrl }) }),
    page: async (request, response) => {
      const path = request.url ?? "/";
      if (!/^\/slack\/(install|oauth_redirect)(\?|$)/.test(path)) return false;
      const headers = new Headers();
      for (const [name, value] of Object.entries(request.headers)) {
        if (typeof value === "string") headers.set(name, value);
      }
      // All other methods are refused alike, and `new Request` throws for some of them.
      const method = request.method === "GET" ? "GET" : "POST";
      const answer = await oauth(
        new Request(new URL(path, "http://localhost"), { method, headers }),
      );
      response.writeHead(answer.status, [...answer.headers].flat());
      response.end(await answer.text());
      return true;
    },
  };
}

/** An app token replaces the signing secret, and an installation flow replaces the bot token. */
export function neededSecrets({
  appToken,
  signingSecret,
  botToken,
  install,
}: Config["slack"]): SecretReference[] {
  return [
    ...(hasSecret(appToken) ? [] : [signingSecret]),
    install === undefined ? botToken : install.clientSecret,
  ];
}

/** Any secret that is set means the real Slack. */
export function isAnySet({ appToken, signingSecret, botToken, install }: Config["slack"]): boolean {
  const all = [
    appToken,
    signingSecret,
    botToken,
    ...(install === undefined ? [] : [install.clientSecret]),
  ];
  return all.some(hasSecret);
}
