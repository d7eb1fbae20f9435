/** `users.*` and `usergroups.*`. */
import { hasAccessToTeam, isTrue } from "../reply.ts";
import {
  channels,
  findFakePerson,
  findFakeTeam,
  groups,
  organization,
  otherBot,
  workspace,
} from "../workspace.ts";
import type { Methods } from "./table.ts";

export const userMethods: Methods<"users" | "usergroups"> = {
  "users.info": ({ args: { user, include_locale }, caller, state: { rules } }) => {
    const person = findFakePerson(user);
    if (user === otherBot.user) return { user: toBotUser(otherBot) };
    if (person === undefined) return { error: "user_not_found" };
    const { id, name, team, otherTeams = [], locale } = person;
    const enterprise = findFakeTeam(team)?.enterprise;
    const isStranger = !hasAccessToTeam(caller, team);
    const hasEmailScope = rules.scopes?.includes("users:read.email") ?? true;
    const own = channels.filter((channel) => hasAccessToTeam(caller, channel.team));
    if (isStranger && !own.some(({ people }) => people.includes(id)))
      return { error: "user_not_visible" };
    return {
      user: {
        id,
        team_id: team,
        name: name.toLowerCase(),
        real_name: name,
        profile: {
          ...{ real_name: name, display_name: name },
          ...(hasEmailScope && { email: `${name.toLowerCase()}@example.com` }),
        },
        is_bot: false,
        is_restricted: false,
        is_ultra_restricted: false,
        is_email_confirmed: true,
        deleted: false,
        ...(isStranger && { is_stranger: true }),
        ...(enterprise !== undefined && {
          enterprise_user: {
            ...{ id, enterprise_id: enterprise, enterprise_name: organization.name },
            ...{ is_admin: false, is_owner: false, teams: [team, ...otherTeams] },
          },
        }),
        ...(isTrue(include_locale) && { locale }),
      },
    };
  },

  "usergroups.list": ({ args: { team_id }, caller }) => {
    if ("enterprise" in caller && team_id === undefined) return { error: "missing_argument" };
    const own = groups.filter(
      ({ team }) => (team_id ?? team) === team && hasAccessToTeam(caller, team),
    );
    return {
      usergroups: own.map(({ id, handle, team }) => ({
        id,
        team_id: team,
        is_usergroup: true,
        name: handle,
        handle,
      })),
    };
  },

  "usergroups.users.list": ({ args: { usergroup, team_id }, caller }) => {
    // An organization's token does not say in which of its workspaces the group is.
    if ("enterprise" in caller && team_id === undefined) return { error: "missing_argument" };
    const group = groups.find(({ id, team }) => id === usergroup && hasAccessToTeam(caller, team));
    return group === undefined ? { error: "no_such_subteam" } : { users: group.users };
  },
};

/** The user of an app. Slack shows it like a person, with a flag. */
function toBotUser({ user: id, name }: { user: string; name: string }) {
  return {
    id,
    team_id: workspace.team,
    name: name.toLowerCase(),
    real_name: name,
    profile: { real_name: name, display_name: "" },
    is_bot: true,
    deleted: false,
  };
}
