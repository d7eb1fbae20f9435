/** Answers Web API calls: token, encoding, scopes and arguments are checked by the table of methods, then the method runs. */

import { readJson } from "../read-json.ts";
import { argumentTypes, findArgumentError } from "./methods/argument-names.ts";
import { type ArgumentName, argumentChecks, type MethodContext } from "./methods/arguments.ts";
import { assistantMethods } from "./methods/assistant.ts";
import { chatMethods } from "./methods/chat.ts";
import { conversationMethods } from "./methods/conversations.ts";
import { canvasMethods, fileMethods } from "./methods/files.ts";
import { oauthMethods } from "./methods/oauth.ts";
import { callsPerMinute, type Methods, methodRows, type SlackMethod } from "./methods/table.ts";
import { userMethods } from "./methods/users.ts";
import { viewMethods } from "./methods/views.ts";
import { findBotUser, hasAccessToTeam, type MethodArgs, type MethodReply } from "./reply.ts";
import type { FakeSlackState } from "./state.ts";

type Headers = { authorization?: string | undefined; "content-type"?: string | undefined };

const methods: Methods<string> = {
  ...assistantMethods,
  ...canvasMethods,
  ...chatMethods,
  ...conversationMethods,
  ...fileMethods,
  ...oauthMethods,
  ...userMethods,
  ...viewMethods,
};

const jsonArgs = argumentTypes.json.split(" ");

/** `args` are missing if the call was refused before they were read. */
export function answerCall(
  state: FakeSlackState,
  { name, headers, body }: { name: string; headers: Headers; body: string },
): { reply: MethodReply; args?: MethodArgs } {
  const { tokens, rules } = state;
  const row = methodRows.get(name);
  if (row === undefined) return refuse("unknown_method");
  const { authorization = "", "content-type": type = "" } = headers;
  const caller = row.needsNoToken ? { team: "" } : findCaller(tokens, authorization);
  if (typeof caller === "string") return refuse(caller);
  if (!type.startsWith("application/x-www-form-urlencoded")) return refuse("invalid_form_data");
  if (!isUtf8(body)) return refuse("invalid_charset");
  const args: MethodArgs = {
    ...Object.fromEntries(new URLSearchParams(body)),
    ...basicArgs(authorization),
  };
  if (jsonArgs.some((arg) => hasHalfCharacter(readJson(args[arg]))))
    return refuse("invalid_arguments");
  const { team_id } = args;
  const isGranted = team_id === undefined || "team" in caller || hasAccessToTeam(caller, team_id);
  const neededScopes = splitNames(row.scopes);
  const hasScope =
    neededScopes.length === 0 ||
    (rules.scopes?.some((scope) => neededScopes.includes(scope)) ?? true);
  if (!isGranted) return { ...refuse("team_access_not_granted"), args };
  if (!hasScope) {
    const provided = rules.scopes?.join(",") ?? "";
    return {
      reply: { ok: false, error: "missing_scope", needed: neededScopes.join(","), provided },
      args,
    };
  }
  const argumentError = findArgumentError(name, args);
  if (argumentError !== undefined) return { reply: { ok: false, ...argumentError }, args };

  const call: MethodContext = { args, caller, bot: findBotUser(caller), state };
  for (const argument of splitNames(row.args)) {
    const checkResult: { error?: string; [value: string]: unknown } =
      argumentChecks[argument as ArgumentName](call);
    const { error } = checkResult;
    if (error !== undefined) return { reply: { ok: false, ...checkResult, error }, args };
    Object.assign(call, checkResult);
  }
  // The row's arguments are in `call` now, as the method's type wants them.
  const method = methods[name as SlackMethod] as (call: MethodContext) => {
    error?: string;
    [field: string]: unknown;
  };
  const { error, ...fields } = method(call);
  return {
    reply: error === undefined ? { ok: true, ...fields } : { ok: false, error, ...fields },
    args,
  };
}

function splitNames(names = ""): string[] {
  return names.split(" ").filter(Boolean);
}

function refuse(error: string): { reply: MethodReply } {
  return { reply: { ok: false, error } };
}

/** The caller, or Slack's error for the token. */
export function findCaller(tokens: FakeSlackState["tokens"], authorization = "") {
  const token = /^Bearer (.+)$/.exec(authorization)?.[1];
  if (token === undefined) return "not_authed";
  const caller = tokens.find(token) ?? "invalid_auth";
  return caller === "revoked" ? "account_inactive" : caller;
}

/** Counts calls per minute. The returned function counts one, and returns the seconds to wait if it was one too many. */
export function createRateLimits(now: () => number) {
  const counts = new Map<string, { minute: number; calls: number }>();
  return (name: string, authorization = ""): number | undefined => {
    const row = methodRows.get(name);
    if (row === undefined) return undefined;
    const minute = Math.floor(now() / 60_000);
    const key = `${name} ${authorization}`;
    const callCount = counts.get(key);
    const calls = callCount?.minute === minute ? callCount.calls + 1 : 1;
    counts.set(key, { minute, calls });
    return calls > callsPerMinute[row.tier]
      ? Math.ceil(((minute + 1) * 60_000 - now()) / 1000)
      : undefined;
  };
}

/** `URLSearchParams` would replace invalid UTF-8 with U+FFFD. */
function isUtf8(form: string): boolean {
  try {
    decodeURIComponent(form);
    return true;
  } catch {
    return false;
  }
}

/** JSON can name half of a surrogate pair with an escape. */
function hasHalfCharacter(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  return Object.values(Object(value)).some(hasHalfCharacter);
}

/** `oauth.v2.access` takes the app's credentials as HTTP Basic too. */
function basicArgs(authorization: string): MethodArgs {
  const encodedCredentials = /^Basic (.+)$/.exec(authorization)?.[1];
  if (encodedCredentials === undefined) return {};
  const [client_id, client_secret] = Buffer.from(encodedCredentials, "base64")
    .toString()
    .split(":")
    .map(decodeURIComponent);
  return { client_id, client_secret };
}
