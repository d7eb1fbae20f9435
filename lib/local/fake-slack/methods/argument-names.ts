/**
 * The arguments of each method, as Slack documents them, and their types. A test compares both with the types of Slack's own client, so
 * that the fake Slack takes no argument that Slack does not know.
 */
import { readJson } from "../../read-json.ts";
import type { MethodArgs } from "../reply.ts";
import type { SlackMethod } from "./table.ts";

const authorship = "icon_emoji icon_url username";

/** Names in one string are separated by spaces. */
export const argumentNames = {
  "agents.sessions.rename": "channel_id thread_ts title",
  "agents.sessions.setStatus": `channel_id thread_ts status title initiator_user_id ${authorship}`,
  "apps.manifest.validate": "app_id manifest",
  "assistant.threads.setStatus": `channel_id thread_ts status loading_messages ${authorship}`,
  "assistant.threads.setSuggestedPrompts": "channel_id thread_ts title prompts",
  "auth.test": "",
  "blocks.validate": "blocks message view",
  "canvases.getContent": "canvas_id content_type",
  "chat.postMessage": `channel thread_ts reply_broadcast text markdown_text blocks attachments metadata as_user link_names parse mrkdwn unfurl_links unfurl_media ${authorship}`,
  "chat.update":
    "channel ts text markdown_text blocks attachments metadata as_user link_names parse file_ids reply_broadcast",
  "chat.delete": "channel ts as_user",
  "chat.postEphemeral": `channel thread_ts user text markdown_text blocks attachments as_user link_names parse ${authorship}`,
  "chat.getPermalink": "channel message_ts",
  "chat.startStream": `channel thread_ts markdown_text chunks recipient_user_id recipient_team_id task_display_mode ${authorship}`,
  "chat.appendStream": "channel ts markdown_text chunks",
  "chat.stopStream": "channel ts markdown_text chunks blocks metadata session_status",
  "conversations.history": "channel cursor limit oldest latest inclusive include_all_metadata",
  "conversations.info": "channel include_locale include_num_members",
  "conversations.replies": "channel ts cursor limit oldest latest inclusive include_all_metadata",
  "conversations.members": "channel cursor limit",
  "conversations.open": "channel users prevent_creation return_im",
  "files.info": "file count cursor limit page",
  "files.getUploadURLExternal": "filename length alt_text snippet_type",
  "files.completeUploadExternal": "files channel_id thread_ts initial_comment blocks",
  "oauth.v2.access": "client_id client_secret code redirect_uri grant_type refresh_token",
  "reactions.add": "channel timestamp name",
  "reactions.remove": "channel timestamp name file file_comment",
  "usergroups.list": "include_count include_disabled include_users team_id",
  "usergroups.users.list": "usergroup include_disabled team_id",
  "users.info": "user include_locale",
  "views.open": "trigger_id interactivity_pointer view",
  "views.publish": "user_id view hash",
} as const satisfies Record<SlackMethod, string>;

/**
 * Arguments that Slack documents for other methods only. The app sends them all the same, because links must get no preview anywhere
 * (docs/explanation/security.md). Slack ignores arguments that it does not know.
 */
const toleratedNames: { readonly [M in SlackMethod]?: string } = {
  "chat.update": "unfurl_links unfurl_media",
  "chat.startStream": "unfurl_links unfurl_media",
  "chat.appendStream": "unfurl_links unfurl_media",
  "chat.stopStream": "unfurl_links unfurl_media",
};

/** `flag` is true or false, `count` a whole number, `json` an object or a list as JSON. Any other argument is text. */
export const argumentTypes = {
  flag: "as_user include_all_metadata include_count include_disabled include_locale include_num_members include_users inclusive link_names mrkdwn prevent_creation reply_broadcast return_im unfurl_links unfurl_media",
  count: "count length limit page",
  json: "attachments blocks chunks file_ids files loading_messages manifest message metadata prompts view",
} as const;

export type ArgumentType = keyof typeof argumentTypes;

const typeOf = new Map(
  Object.entries(argumentTypes).flatMap(([type, names]) =>
    names.split(" ").map((name) => [name, type as ArgumentType] as const),
  ),
);

/** The most items of one page. */
const maxLimit = 1000;

/** Slack's own error for a value of the wrong type. */
const typeErrors: { readonly [name: string]: string } = {
  blocks: "invalid_blocks_format",
  chunks: "invalid_chunks",
  latest: "invalid_ts_latest",
  limit: "invalid_limit",
  metadata: "invalid_metadata_format",
  oldest: "invalid_ts_oldest",
};

/** Slack's error for the first argument that the method does not know or that has the wrong type, or undefined. */
export function findArgumentError(
  method: string,
  args: MethodArgs,
): { error: string; response_metadata?: { messages: string[] } } | undefined {
  const knownNames = new Set(
    `${argumentNames[method as SlackMethod]} ${toleratedNames[method as SlackMethod] ?? ""} team_id token`.split(
      " ",
    ),
  );
  for (const [name, value = ""] of Object.entries(args)) {
    if (!knownNames.has(name)) {
      return {
        error: "invalid_arg_name",
        response_metadata: { messages: [`[ERROR] unknown argument: ${name}`] },
      };
    }
    if (hasType(name, value)) continue;
    const error = typeErrors[name] ?? "invalid_arguments";
    return {
      error,
      response_metadata: { messages: [`[ERROR] wrong type [json-pointer:/${name}]`] },
    };
  }
  return undefined;
}

function hasType(name: string, value: string): boolean {
  if (name === "oldest" || name === "latest") return /^\d+(\.\d{1,6})?$/.test(value);
  switch (typeOf.get(name)) {
    case "flag":
      return /^(true|false|1|0)$/.test(value);
    case "count":
      return (
        /^\d+$/.test(value) &&
        (name !== "limit" || (Number(value) >= 1 && Number(value) <= maxLimit))
      );
    case "json":
      return typeof readJson(value) === "object" && readJson(value) !== null;
    default:
      return true;
  }
}
