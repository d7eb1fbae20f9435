/** Whose token is used for which workspace on one machine, and the flow by which further workspaces install the app. */
import { join } from "node:path";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import type { Page } from "../../lambdas/verification/ingress/server.ts";
import { createInstallationFile } from "../../lambdas/verification/installations/installation-file.ts";
import { createTeamOf } from "../../lambdas/verification/installations/team-of.ts";
import { createTokens, type Tokens } from "../../lambdas/verification/installations/tokens.ts";
import { createOauth } from "../../lambdas/verification/oauth/oauth.ts";
import { botScopes } from "../../lambdas/verification/slack/bot-scopes.ts";

export type SlackInstallation = { tokens: Tokens; page: Page };

/** Without `slack.install` there is one workspace and one token, and no flow. */
export function openSlackInstallation({
  config,
  dataFolder,
  botToken,
  apiUrl,
  log,
}: {
  config: Config;
  dataFolder: string;
  /** Undefined where there is none beside those of the flow. */
  botToken: () => Promise<string | undefined>;
  apiUrl: string;
  log: Log;
}): SlackInstallation {
  const { install } = config.slack;
  if (install === undefined) return { tokens: createTokens({ botToken }), page: () => false };
  const installations = createInstallationFile({ file: join(dataFolder, "installations.json") });
  const oauth = createOauth({
    clientId: install.clientId,
    clientSecret: () => readSecret(install.clientSecret),
    scopes: botScopes(config),
    installations,
    apiUrl,
    log,
  });
  return {
    tokens: createTokens({ botToken, installations, teamOf: createTeamOf({ apiUrl }) }),
    page: async (request, response) => {
      const path = request.url ?? "/";
      if (!/^\/slack\/(install|oauth_redirect)(\?|$)/.test(path)) return false;
      const headers = new Headers();
      for (const [name, value] of Object.entries(request.headers)) {
        if (typeof value === "string") headers.set(name, value);
      }
      // Of another method no more has to be known; of some no Request can be made.
      const method = request.method === "GET" ? "GET" : "POST";
      const answer = await oauth(new Request(new URL(path, "http://localhost"), { method, headers }));
      response.writeHead(answer.status, [...answer.headers].flat());
      response.end(await answer.text());
      return true;
    },
  };
}
