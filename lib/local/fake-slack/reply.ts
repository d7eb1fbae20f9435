/** What all Web API methods of the fake Slack are made of: arguments, whose token it was, and the reply. */
import { type FakeSlackChannel, findFakeChannel, findFakeTeam, organization } from "./workspace.ts";

export type MethodArgs = Readonly<Record<string, string | undefined>>;
export type MethodReply =
  | { ok: true; [field: string]: unknown }
  | { ok: false; error: string; [field: string]: unknown };
/** Whose token a call came with: a workspace's, or an organization's. */
export type FakeSlackCaller = { team: string } | { enterprise: string };
export type FakeSlackMethod = (args: MethodArgs, caller: FakeSlackCaller) => MethodReply;

export function errorReply(error: string): MethodReply {
  return { ok: false, error };
}

/** Whether the app, as it is installed there, is at home in that workspace. */
export function hasAccessToTeam(caller: FakeSlackCaller, team: string | undefined): boolean {
  return "team" in caller ? caller.team === team : findFakeTeam(team)?.enterprise === caller.enterprise;
}

/** A channel that does not exist for the caller does not exist. */
export function findVisibleChannel(caller: FakeSlackCaller, id: string | undefined): FakeSlackChannel | undefined {
  const channel = findFakeChannel(id);
  return channel !== undefined && hasAccessToTeam(caller, channel.team) ? channel : undefined;
}

/** The bot's user as which the caller acts. */
export function findBotUser(caller: FakeSlackCaller): string | undefined {
  return "team" in caller ? findFakeTeam(caller.team)?.user : organization.user;
}

export function isTrue(value: string | undefined): boolean {
  return value === "true" || value === "1";
}

/** Undefined for what is no JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
