/** What all Web API methods of the fake Slack are made of: arguments, whose token it was, and the reply. */
import { channelOf, type FakeSlackChannel, organization, teamOf } from "./workspace.ts";

export type MethodArgs = Readonly<Record<string, string | undefined>>;
export type MethodReply =
  | { ok: true; [field: string]: unknown }
  | { ok: false; error: string; [field: string]: unknown };
/** Whose token a call came with: a workspace's, or an organization's. */
export type Caller = { team: string } | { enterprise: string };
export type Method = (args: MethodArgs, caller: Caller) => MethodReply;

export function failure(error: string): MethodReply {
  return { ok: false, error };
}

/** Whether the app, as it is installed there, is at home in that workspace. */
export function covers(caller: Caller, team: string | undefined): boolean {
  return "team" in caller ? caller.team === team : teamOf(team)?.enterprise === caller.enterprise;
}

/** A channel that does not exist for the caller does not exist. */
export function channelFor(caller: Caller, id: string | undefined): FakeSlackChannel | undefined {
  const channel = channelOf(id);
  return channel !== undefined && covers(caller, channel.team) ? channel : undefined;
}

/** The bot's user as which the caller acts. */
export function botUserOf(caller: Caller): string | undefined {
  return "team" in caller ? teamOf(caller.team)?.user : organization.user;
}

export function isTrue(value: string | undefined): boolean {
  return value === "true" || value === "1";
}

/** Undefined for what is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
