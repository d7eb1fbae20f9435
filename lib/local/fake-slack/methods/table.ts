/**
 * The Web API methods of the fake Slack (https://docs.slack.dev/reference/methods), one row each. Tokens, scopes, rate limits
 * and arguments are checked by this table, and a method that returns an error that is not in its row does not compile.
 */
import type { ArgumentName, CheckError, CheckedArguments, MethodContext } from "./arguments.ts";

/** Calls a minute, of one method with one token (https://docs.slack.dev/apis/web-api/rate-limits). */
export const callsPerMinute = { tier2: 20, tier3: 50, tier4: 100, special: 300 } as const;

/** Names in one string are separated by spaces. */
type Row = {
  tier: keyof typeof callsPerMinute;
  /** One of these scopes is enough. Undefined if no scope is needed, or if the app's credentials replace a token. */
  scopes?: string;
  needsNoToken?: true;
  /** The arguments that are checked before the method runs, in this order. `?` marks an optional one. */
  args?: string;
  /** The method's own errors, beside those of its arguments. */
  errors?: string;
};

const scopes = "channels:history groups:history im:history mpim:history";
const write = { scopes: "chat:write" } as const;
const react = { scopes: "reactions:write", args: "channel name timestamp" } as const;

const methodTable = {
  "agents.sessions.rename": {
    tier: "tier3",
    ...write,
    args: "channel_id thread_ts",
    errors: "invalid_arguments",
  },
  "agents.sessions.setStatus": {
    tier: "tier3",
    ...write,
    args: "channel_id thread_ts",
    errors: "invalid_arguments",
  },
  // Slack wants a token for app configurations, which is no bot token.
  "apps.manifest.validate": { tier: "tier2", needsNoToken: true, errors: "invalid_manifest" },
  "assistant.threads.setStatus": {
    tier: "special",
    scopes: "chat:write assistant:write",
    args: "channel_id thread_ts",
    errors: "invalid_arguments",
  },
  "assistant.threads.setSuggestedPrompts": {
    tier: "tier4",
    scopes: "assistant:write",
    args: "channel_id thread_ts?",
    errors: "invalid_arguments",
  },
  "auth.test": { tier: "special" },
  "blocks.validate": {
    tier: "special",
    errors: "invalid_arguments invalid_blocks invalid_message invalid_view",
  },
  "canvases.getContent": {
    tier: "tier3",
    scopes: "canvases:read",
    errors: "missing_argument canvas_not_found",
  },
  "chat.postMessage": { tier: "special", ...write, args: "channel content thread_ts? metadata?" },
  "chat.update": {
    tier: "tier3",
    ...write,
    args: "channel ts content metadata?",
    errors: "cant_update_message streaming_state_conflict msg_too_long",
  },
  "chat.delete": { tier: "tier3", ...write, args: "channel ts", errors: "cant_delete_message" },
  "chat.postEphemeral": {
    tier: "tier4",
    ...write,
    args: "channel content",
    errors: "user_not_in_channel",
  },
  "chat.getPermalink": { tier: "special", args: "channel message_ts" },
  "chat.startStream": {
    tier: "tier2",
    ...write,
    args: "channel thread_ts piece",
    errors: "missing_recipient_user_id missing_recipient_team_id user_not_found team_not_found",
  },
  "chat.appendStream": {
    tier: "tier4",
    ...write,
    args: "channel ts stream piece",
    errors: "no_text",
  },
  "chat.stopStream": { tier: "tier2", ...write, args: "channel ts stream piece metadata? blocks?" },
  "conversations.history": { tier: "tier3", scopes, args: "channel cursor?" },
  "conversations.replies": {
    tier: "tier3",
    scopes,
    args: "channel cursor?",
    errors: "thread_not_found",
  },
  "conversations.info": {
    tier: "tier3",
    scopes: "channels:read groups:read im:read mpim:read",
    args: "any_channel",
    errors: "missing_scope channel_not_found",
  },
  "conversations.members": {
    tier: "tier4",
    scopes: "channels:read groups:read im:read mpim:read",
    args: "any_channel cursor?",
    errors: "missing_scope channel_not_found",
  },
  "conversations.open": {
    tier: "tier3",
    scopes: "im:write mpim:write",
    errors:
      "users_list_not_supplied method_not_supported_for_channel_type user_not_found user_not_visible",
  },
  "files.info": { tier: "tier4", scopes: "files:read", errors: "file_not_found access_denied" },
  "files.getUploadURLExternal": {
    tier: "tier4",
    scopes: "files:write",
    errors: "missing_argument",
  },
  "files.completeUploadExternal": {
    tier: "tier4",
    scopes: "files:write",
    args: "channel_id? thread_ts?",
    errors: "invalid_arguments file_not_found",
  },
  "oauth.v2.access": {
    tier: "special",
    needsNoToken: true,
    errors: "invalid_client_id bad_client_secret invalid_code",
  },
  "reactions.add": { tier: "tier3", ...react, errors: "already_reacted" },
  "reactions.remove": { tier: "tier2", ...react, errors: "no_reaction" },
  "usergroups.list": { tier: "tier2", scopes: "usergroups:read", errors: "missing_argument" },
  "usergroups.users.list": {
    tier: "tier2",
    scopes: "usergroups:read",
    errors: "missing_argument no_such_subteam",
  },
  "views.open": {
    tier: "tier4",
    errors:
      "invalid_arguments invalid_trigger_id exchanged_trigger_id expired_trigger_id view_too_large",
  },
  "users.info": { tier: "tier4", scopes: "users:read", errors: "user_not_found user_not_visible" },
  "views.publish": {
    tier: "tier4",
    errors: "invalid_arguments not_enabled user_not_found view_too_large",
  },
} as const satisfies Record<string, Row>;

export type SlackMethod = keyof typeof methodTable;
export const methodRows: ReadonlyMap<string, Row> = new Map(Object.entries(methodTable));

type Names<S> = S extends `${infer First} ${infer Rest}` ? First | Names<Rest> : S;
type Args<R> = R extends { args: infer A } ? Names<A> : never;
type Errors<R> = R extends { errors: infer E } ? Names<E> : never;

/** Holds what Slack answers beside `ok` and the error. */
type Reply<E> =
  | { error: E; [field: string]: unknown }
  | { error?: undefined; [field: string]: unknown };
/** `never`, which no function is, if the row names an unknown argument. */
type Method<R> = [Args<R>] extends [infer A extends ArgumentName]
  ? (call: MethodContext & CheckedArguments<A>) => Reply<Errors<R> | CheckError<A>>
  : never;

/** Every method whose name begins with `Group`. */
export type Methods<Group extends string> = {
  [M in SlackMethod as M extends `${Group}.${string}` ? M : never]: Method<(typeof methodTable)[M]>;
};
