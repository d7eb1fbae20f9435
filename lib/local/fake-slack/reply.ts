/** Arguments, caller and reply of a Web API call to the fake Slack. */
import { type FakeSlackChannel, findFakeChannel, findFakeTeam, organization } from "./workspace.ts";

export type MethodArgs = Readonly<Record<string, string | undefined>>;
export type MethodReply =
  | { ok: true; [field: string]: unknown }
  | { ok: false; error: string; [field: string]: unknown };
/** The owner of the token in a call: a workspace or an organization. */
export type FakeSlackCaller = { team: string } | { enterprise: string };

/** True if the app is installed in that workspace through the caller's installation. */
export function hasAccessToTeam(caller: FakeSlackCaller, team: string | undefined): boolean {
  return "team" in caller
    ? caller.team === team
    : findFakeTeam(team)?.enterprise === caller.enterprise;
}

/** Undefined for a channel of another workspace too: Slack does not reveal that it exists. */
export function findVisibleChannel(
  caller: FakeSlackCaller,
  id: string | undefined,
): FakeSlackChannel | undefined {
  const channel = findFakeChannel(id);
  return channel !== undefined && hasAccessToTeam(caller, channel.team) ? channel : undefined;
}

/** The bot user that acts for the caller. */
export function findBotUser(caller: FakeSlackCaller): string {
  return "team" in caller ? (findFakeTeam(caller.team)?.user ?? "") : organization.user;
}

export function isTrue(value: string | undefined): boolean {
  return value === "true" || value === "1";
}
