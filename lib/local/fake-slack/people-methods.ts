/** `auth.test`, `users.info`, `usergroups.users.list`, `oauth.v2.access`: who somebody is, and where the app is installed. */
import {
  errorReply,
  type FakeSlackCaller,
  type FakeSlackMethod,
  findBotUser,
  hasAccessToTeam,
  isTrue,
} from "./reply.ts";
import type { FakeSlackState } from "./state.ts";
import { channels, findFakePerson, findFakeTeam, groups, organization, workspace } from "./workspace.ts";

export function peopleMethods({ tokens, rules }: FakeSlackState): Record<string, FakeSlackMethod> {
  const info: FakeSlackMethod = ({ user, include_locale }, caller) => {
    const person = findFakePerson(user);
    if (person === undefined) return errorReply("user_not_found");
    const isStranger = !hasAccessToTeam(caller, person.team);
    const meets = channels.some(
      (channel) => hasAccessToTeam(caller, channel.team) && channel.people.includes(person.id),
    );
    if (isStranger && !meets) return errorReply("user_not_visible");
    const { id, name, team, locale } = person;
    return {
      ok: true,
      user: {
        id,
        team_id: team,
        name: name.toLowerCase(),
        real_name: name,
        is_bot: false,
        deleted: false,
        ...(isStranger ? { is_stranger: true } : {}),
        ...(isTrue(include_locale) ? { locale } : {}),
      },
    };
  };

  const groupMembers: FakeSlackMethod = ({ usergroup, team_id }, caller) => {
    // A token of an organization does not say in which of its workspaces the group is.
    if ("enterprise" in caller && team_id === undefined) return errorReply("missing_argument");
    const group = groups.find((each) => each.id === usergroup && hasAccessToTeam(caller, each.team));
    return group === undefined ? errorReply("no_such_subteam") : { ok: true, users: group.users };
  };

  const access: FakeSlackMethod = ({ client_id, client_secret, code = "" }) => {
    const { install } = rules;
    if (install === undefined || client_id !== install.clientId) return errorReply("invalid_client_id");
    if (client_secret !== install.clientSecret) return errorReply("bad_client_secret");
    const installed = tokens.redeem(code);
    if (installed === undefined) return errorReply("invalid_code");
    const { caller, token } = installed;
    return {
      ok: true,
      access_token: token,
      token_type: "bot",
      scope: "app_mentions:read,chat:write",
      bot_user_id: findBotUser(caller),
      app_id: workspace.app,
      authed_user: { id: workspace.person },
      ...placeOf(caller),
    };
  };

  return {
    "auth.test": (_args, caller) => ({ ok: true, ...identityOf(caller) }),
    "users.info": info,
    "usergroups.users.list": groupMembers,
    "oauth.v2.access": access,
  };
}

function identityOf(caller: FakeSlackCaller) {
  const bot = { user: "sekisho", user_id: findBotUser(caller), bot_id: workspace.bot };
  if ("enterprise" in caller) {
    const { id, name } = organization;
    return { ...bot, team: name, team_id: id, enterprise_id: id, is_enterprise_install: true };
  }
  return { ...bot, team: findFakeTeam(caller.team)?.name, team_id: caller.team, is_enterprise_install: false };
}

/** Where the app was installed, as `oauth.v2.access` says it: an organization has no team. */
function placeOf(caller: FakeSlackCaller) {
  if ("enterprise" in caller) {
    const { id, name } = organization;
    return { team: null, enterprise: { id, name }, is_enterprise_install: true };
  }
  const team = { id: caller.team, name: findFakeTeam(caller.team)?.name };
  return { team, enterprise: null, is_enterprise_install: false };
}
