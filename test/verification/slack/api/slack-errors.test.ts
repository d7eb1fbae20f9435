/** Every error that Slack documents for a method that is called here has a kind that somebody decided on. */
import { describe, expect, it } from "@jest/globals";
import { toSlackErrorKind } from "@sekisho/verification/slack/api/slack-errors.ts";

/** "Errors" of the methods that are called here, without those about arguments that are never sent and those that say that it is done already. */
const documented = `
  access_denied accesslimited account_inactive alt_txt_too_large as_user_not_supported
  attachment_payload_limit_exceeded bad_timestamp block_mismatch blocked_file_type cannot_reply_to_message
  cant_delete_message cant_update_message channel_is_limited_access channel_not_found channel_type_not_supported
  channels_limit_exceeded deprecated_endpoint edit_window_closed ekm_access_denied enterprise_is_restricted
  external_channel_migrating file_not_found file_type_not_allowed file_upload_size_restricted
  file_uploads_disabled file_uploads_except_images_disabled invalid_arg_name invalid_arguments invalid_array_arg
  invalid_attachments invalid_auth invalid_blocks invalid_blocks_format invalid_channel invalid_charset
  invalid_chunks invalid_cursor invalid_form_data invalid_metadata_filter_keys invalid_metadata_format
  invalid_metadata_schema invalid_name invalid_post_type invalid_thread_ts invalid_ts_latest invalid_ts_oldest
  invalid_user_combination is_archived is_inactive markdown_text_conflict message_limit_exceeded message_not_found
  message_not_in_streaming_state message_not_owned_by_app messages_tab_disabled metadata_must_be_sent_from_app
  metadata_too_large method_deprecated method_not_supported_for_channel_type missing_argument missing_file_data
  missing_post_type missing_recipient_team_id missing_recipient_user_id missing_scope msg_blocks_too_long
  msg_blocks_too_many msg_too_long no_access no_item_specified no_permission no_such_subteam no_text
  not_allowed_token_type not_authed not_enough_users not_in_channel not_reactable org_login_required
  plan_upgrade_required posting_to_channel_denied rate_limited ratelimited request_timeout reserved_username
  restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
  restricted_action_thread_locked restricted_action_thread_only_channel service_unavailable
  slack_connect_blocked_file_type slack_connect_canvas_sharing_blocked slack_connect_clip_sharing_blocked
  slack_connect_file_link_sharing_blocked slack_connect_file_upload_sharing_blocked
  slack_connect_lists_sharing_blocked snippet_too_large stopped_by_user storage_limit_reached
  streaming_state_conflict team_access_not_granted team_added_to_org team_not_found thread_locked thread_not_found
  token_expired token_revoked too_many_attachments too_many_contact_cards too_many_emoji too_many_reactions
  too_many_users two_factor_setup_required unable_to_share_files unknown_snippet_type unknown_subtype
  user_disabled user_not_found user_not_in_channel user_not_visible users_list_not_supplied`;

describe("an error of Slack", () => {
  it("knows for every documented error whether the call had an effect", () => {
    const names = documented.trim().split(/\s+/);
    expect(names.filter((name) => toSlackErrorKind(name) === "ambiguous")).toEqual([]);
  });

  it.each([
    "fatal_error",
    "internal_error",
    "messaging_processing_failed",
    "file_update_failed",
    "update_failed",
  ])("treats the error %s as ambiguous", (name) =>
    expect(toSlackErrorKind(name)).toBe("ambiguous"),
  );
});
