/**
 * Decides whether a person belongs to the installation or to another workspace. Every message and every interaction passes this one check,
 * because a channel can be shared with another organization (Slack Connect) after the bot has posted in it.
 */

import type { AllowlistRule, Config } from "@sekisho/config/schema.ts";
import type { Installation, UserMessage } from "../task/messages.ts";
import type { Task } from "../task/task.ts";

/** Who acts, as Slack names them. `userTeam` is their workspace or organization; undefined if Slack names none. */
export type Actor = { user: string; userTeam?: string | undefined };

/**
 * Who acts, after the check. `external` is undefined for the installation's own people, `channels` for them in a channel that is shared with
 * other organizations, and `people` for everybody else.
 */
export type Person = { user: string; external: UserMessage["external"] };

/** A user as Slack describes them. `workspaces` has more than one entry only in an organization (Enterprise Grid). */
export type Profile = {
  workspaces: readonly string[];
  organization: string | undefined;
  isBot?: boolean | undefined;
};

/** Returns the writer of a message. In a message, no `userTeam` means the installation's own, except for people of other organizations. */
export function actorOf({ user, userTeam, team, external }: UserMessage): Actor {
  return { user, userTeam: external === "people" ? userTeam : (userTeam ?? team) };
}

/**
 * Decides about a person whom Slack does not name as one of the installation's workspace. Slack names one workspace per person of an
 * organization, wherever that person clicks, so members of the workspace are recognized by their profile. A colleague from another workspace
 * of the organization counts only if the app is installed in the whole organization and a rule names that workspace or the organization.
 */
export function isOwnPerson(request: {
  installation: Installation;
  userTeam: string | undefined;
  profile: Profile;
  rules: readonly Pick<AllowlistRule, "team">[];
}): boolean {
  const { installation, userTeam, profile, rules } = request;
  const { team, enterprise } = installation;
  const names = [
    ...profile.workspaces,
    ...(profile.organization === undefined ? [] : [profile.organization]),
  ];
  // Somebody else's profile would decide.
  if (userTeam !== undefined && !names.includes(userTeam)) return false;
  if (profile.workspaces.includes(team)) return true;
  if (enterprise === undefined || profile.organization !== enterprise) return false;
  return rules.some((rule) => rule.team !== undefined && names.includes(rule.team));
}

/** True for the person who asked. Somebody of another organization who has the same id is somebody else. */
export function isAsker({ message }: Pick<Task, "message">, { user, external }: Person): boolean {
  const isForeign = actorOf(message).userTeam !== message.team;
  return user === message.user && (external !== "people" || isForeign);
}

/**
 * True if a rule counts in the installation's workspace. If workspaces install the app themselves, a rule counts only where it says so:
 * otherwise a channel's, a person's or an app's id would admit people of any workspace that installs the app.
 */
export function isRuleIn(request: {
  rule: { team?: string | undefined };
  installation: Installation;
  hasManyWorkspaces: boolean;
}): boolean {
  const { rule, installation, hasManyWorkspaces } = request;
  if (rule.team === undefined) return !hasManyWorkspaces;
  return rule.team === installation.team || rule.team === installation.enterprise;
}

/** True if workspaces install the app themselves, so that nobody knows in advance which ones have it. */
export function hasManyWorkspaces({ slack }: { slack: Pick<Config["slack"], "install"> }): boolean {
  return slack.install !== undefined;
}
