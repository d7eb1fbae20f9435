/** `oauth.*` and `auth.*`: the app's installations. */
import { type FakeSlackCaller, findBotUser } from "../reply.ts";
import { findFakeTeam, organization, workspace } from "../workspace.ts";
import type { Methods } from "./table.ts";

export const oauthMethods: Methods<"oauth" | "auth"> = {
  "auth.test": ({ caller, bot }) => {
    const { id, name, is_enterprise_install } = homeOf(caller);
    const enterprise = is_enterprise_install ? { enterprise_id: id } : {};
    const home = { team: name, team_id: id, ...enterprise, is_enterprise_install };
    return { user: "sekisho", user_id: bot, bot_id: workspace.bot, ...home };
  },

  "oauth.v2.access": ({
    args: { client_id, client_secret, code = "" },
    state: { rules, tokens },
  }) => {
    if (rules.install === undefined || client_id !== rules.install.clientId)
      return { error: "invalid_client_id" };
    if (client_secret !== rules.install.clientSecret) return { error: "bad_client_secret" };
    const installation = tokens.redeem(code);
    if (installation === undefined) return { error: "invalid_code" };
    const { id, name, is_enterprise_install } = homeOf(installation.caller);
    return {
      access_token: installation.token,
      token_type: "bot",
      scope: "app_mentions:read,chat:write",
      bot_user_id: findBotUser(installation.caller),
      app_id: workspace.app,
      authed_user: { id: workspace.person },
      // An organization's installation has no team.
      team: is_enterprise_install ? null : { id, name },
      enterprise: is_enterprise_install ? { id, name } : null,
      is_enterprise_install,
    };
  },
};

function homeOf(caller: FakeSlackCaller) {
  if ("enterprise" in caller) return { ...organization, is_enterprise_install: true };
  return { id: caller.team, name: findFakeTeam(caller.team)?.name, is_enterprise_install: false };
}
