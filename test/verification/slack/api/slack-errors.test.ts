/** Every error that Slack documents for a method that is called here has a kind that somebody decided on. */
import { describe, expect, it } from "@jest/globals";
import { toSlackErrorKind } from "../../../../lambdas/verification/slack/api/slack-errors.ts";

/** By method ("Errors" of its page), without those about arguments that are never sent and those that say that it is done already. */
const documented: readonly (readonly [method: string, names: string])[] = [
  [
    "chat.postMessage",
    `
    as_user_not_supported attachment_payload_limit_exceeded cannot_reply_to_message channel_not_found
    invalid_blocks invalid_blocks_format invalid_metadata_format invalid_metadata_schema is_archived
    markdown_text_conflict message_limit_exceeded messages_tab_disabled metadata_must_be_sent_from_app
    metadata_too_large missing_file_data msg_blocks_too_long no_text not_in_channel rate_limited
    restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found
    too_many_attachments too_many_contact_cards`,
  ],
  [
    "chat.update",
    `
    as_user_not_supported block_mismatch blocked_file_type cant_update_message channel_not_found
    edit_window_closed external_channel_migrating file_not_found invalid_attachments invalid_blocks
    invalid_blocks_format invalid_metadata_format invalid_metadata_schema is_inactive markdown_text_conflict
    message_limit_exceeded message_not_found metadata_must_be_sent_from_app metadata_too_large msg_too_long
    no_text posting_to_channel_denied slack_connect_blocked_file_type slack_connect_canvas_sharing_blocked
    slack_connect_clip_sharing_blocked slack_connect_file_link_sharing_blocked
    slack_connect_file_upload_sharing_blocked streaming_state_conflict team_not_found too_many_attachments
    unable_to_share_files`,
  ],
  [
    "chat.delete",
    `
    cant_delete_message channel_not_found message_not_found`,
  ],
  [
    "chat.postEphemeral",
    `
    cannot_reply_to_message channel_not_found invalid_attachments invalid_blocks invalid_blocks_format
    is_archived markdown_text_conflict message_limit_exceeded messages_tab_disabled msg_too_long no_text
    not_in_channel restricted_action too_many_attachments user_not_in_channel`,
  ],
  [
    "reactions.add",
    `
    bad_timestamp channel_not_found external_channel_migrating invalid_name is_archived message_not_found
    no_access no_item_specified not_reactable thread_locked too_many_emoji too_many_reactions`,
  ],
  [
    "reactions.remove",
    `
    bad_timestamp channel_not_found external_channel_migrating file_not_found invalid_name message_not_found
    no_access no_item_specified thread_locked`,
  ],
  [
    "conversations.history",
    `
    channel_is_limited_access channel_not_found invalid_cursor invalid_metadata_filter_keys invalid_ts_latest
    invalid_ts_oldest not_in_channel`,
  ],
  [
    "conversations.replies",
    `
    channel_not_found invalid_cursor invalid_metadata_filter_keys invalid_ts_latest invalid_ts_oldest
    method_not_supported_for_channel_type thread_not_found`,
  ],
  [
    "conversations.open",
    `
    channel_not_found invalid_user_combination method_not_supported_for_channel_type not_enough_users
    too_many_users user_disabled user_not_found user_not_visible users_list_not_supplied`,
  ],
  [
    "users.info",
    `
    too_many_users user_not_found user_not_visible`,
  ],
  [
    "usergroups.users.list",
    `
    invalid_cursor no_such_subteam plan_upgrade_required`,
  ],
  [
    "chat.startStream",
    `
    channel_not_found channel_type_not_supported invalid_blocks invalid_blocks_format invalid_chunks
    invalid_metadata_format invalid_metadata_schema is_archived message_limit_exceeded messages_tab_disabled
    metadata_must_be_sent_from_app metadata_too_large missing_recipient_team_id missing_recipient_user_id
    msg_blocks_too_long msg_blocks_too_many no_text not_in_channel rate_limited restricted_action
    restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found user_not_found`,
  ],
  [
    "chat.appendStream",
    `
    as_user_not_supported channel_not_found channel_type_not_supported invalid_blocks invalid_chunks
    invalid_metadata_format invalid_metadata_schema is_archived message_limit_exceeded message_not_found
    message_not_in_streaming_state message_not_owned_by_app messages_tab_disabled
    metadata_must_be_sent_from_app metadata_too_large msg_blocks_too_long msg_blocks_too_many no_text
    not_in_channel rate_limited restricted_action restricted_action_non_threadable_channel
    restricted_action_read_only_channel restricted_action_thread_locked restricted_action_thread_only_channel
    slack_connect_canvas_sharing_blocked slack_connect_file_link_sharing_blocked
    slack_connect_lists_sharing_blocked stopped_by_user team_not_found too_many_attachments
    too_many_contact_cards`,
  ],
  [
    "chat.stopStream",
    `
    as_user_not_supported attachment_payload_limit_exceeded cannot_reply_to_message channel_not_found
    channel_type_not_supported invalid_blocks invalid_chunks invalid_metadata_format invalid_metadata_schema
    is_archived message_limit_exceeded message_not_found message_not_in_streaming_state
    message_not_owned_by_app messages_tab_disabled metadata_must_be_sent_from_app metadata_too_large
    missing_file_data msg_blocks_too_long msg_blocks_too_many no_text not_in_channel rate_limited
    restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found
    too_many_attachments too_many_contact_cards`,
  ],
  [
    "files.getUploadURLExternal",
    `
    alt_txt_too_large file_type_not_allowed file_upload_size_restricted file_uploads_disabled
    file_uploads_except_images_disabled missing_argument snippet_too_large storage_limit_reached
    unknown_snippet_type unknown_subtype`,
  ],
  [
    "files.completeUploadExternal",
    `
    channel_not_found channels_limit_exceeded file_not_found file_type_not_allowed
    file_uploads_except_images_disabled invalid_blocks invalid_channel not_in_channel
    posting_to_channel_denied`,
  ],
  [
    "assistant.threads.setStatus",
    `
    channel_not_found invalid_thread_ts reserved_username`,
  ],
  [
    "assistant.threads.setSuggestedPrompts",
    `
    channel_not_found invalid_thread_ts message_not_found`,
  ],
  [
    "every method",
    `
    access_denied accesslimited account_inactive deprecated_endpoint ekm_access_denied
    enterprise_is_restricted invalid_arg_name invalid_arguments invalid_array_arg invalid_auth invalid_charset
    invalid_form_data invalid_post_type method_deprecated missing_post_type missing_scope no_permission
    not_allowed_token_type not_authed org_login_required ratelimited request_timeout service_unavailable
    team_access_not_granted team_added_to_org token_expired token_revoked two_factor_setup_required`,
  ],
];

describe("an error of Slack", () => {
  it.each(documented)("that is documented for %s says what became of the call", (_method, names) => {
    const undecided = names.split(/\s+/).filter((name) => name !== "" && toSlackErrorKind(name) === "ambiguous");
    expect(undecided).toEqual([]);
  });

  it.each(["fatal_error", "internal_error", "messaging_processing_failed", "file_update_failed", "update_failed"])(
    "%s leaves open what became of it",
    (name) => expect(toSlackErrorKind(name)).toBe("ambiguous"),
  );
});
