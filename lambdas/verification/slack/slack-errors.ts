/** Which of Slack's error names (https://docs.slack.dev/reference/methods, "Errors" of each method called here) means what. */
import type { SlackErrorKind } from "./slack.ts";

const names: Record<SlackErrorKind, readonly string[]> = {
  gone: [
    // The channel, the thread, or the right to post there.
    "access_denied",
    "cannot_reply_to_message",
    "channel_is_limited_access",
    "channel_not_found",
    "channel_type_not_supported",
    "ekm_access_denied",
    "invalid_thread_ts",
    "is_archived",
    "is_inactive",
    "messages_tab_disabled",
    "not_in_channel",
    "restricted_action",
    "restricted_action_non_threadable_channel",
    "restricted_action_read_only_channel",
    "restricted_action_thread_locked",
    "restricted_action_thread_only_channel",
    "thread_locked",
    "thread_not_found",
    // The token, the app, the workspace.
    "accesslimited",
    "account_inactive",
    "enterprise_is_restricted",
    "invalid_auth",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "not_authed",
    "team_access_not_granted",
    "team_not_found",
    "token_expired",
    "token_revoked",
    "two_factor_setup_required",
  ],
  no_such_message: [
    "cant_delete_message",
    "cant_update_message",
    "compliance_exports_prevent_deletion",
    "edit_window_closed",
    "message_not_found",
    "message_not_owned_by_app",
  ],
  refused: [
    "bad_timestamp",
    "deprecated_endpoint",
    "invalid_arg_name",
    "invalid_arguments",
    "invalid_array_arg",
    "invalid_charset",
    "invalid_cursor",
    "invalid_form_data",
    "invalid_limit",
    "invalid_metadata_format",
    "invalid_metadata_schema",
    "invalid_name",
    "invalid_post_type",
    "invalid_ts_latest",
    "invalid_ts_oldest",
    "message_too_long",
    "metadata_must_be_sent_from_app",
    "metadata_too_large",
    "method_deprecated",
    "method_not_supported_for_channel_type",
    "missing_post_type",
    "msg_too_long",
    "no_text",
    "not_reactable",
    "too_many_emoji",
    "too_many_reactions",
    "unknown_method",
  ],
  rate_limited: ["message_limit_exceeded", "rate_limited", "ratelimited"],
  unavailable: [
    "external_channel_migrating",
    "org_login_required",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
  ],
  // "It's possible some aspect of the operation succeeded before the error was raised."
  ambiguous: ["fatal_error", "internal_error", "update_failed"],
};

const kinds = new Map(
  Object.entries(names).flatMap(([kind, list]) => list.map((name) => [name, kind as SlackErrorKind] as const)),
);

/** A name that is not in the table is `ambiguous`: it ends nothing, and whoever repeats looks first. */
export function kindOfSlackError(name: string): SlackErrorKind {
  return kinds.get(name) ?? "ambiguous";
}
