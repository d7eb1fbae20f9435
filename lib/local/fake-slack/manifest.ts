/** Checks an app manifest as Slack does (https://docs.slack.dev/reference/app-manifest), for the parts that this app uses. */
import * as z from "zod";

const text = (max: number) => z.string().min(1).max(max);
const address = z.url({ protocol: /^https$/ });
const promptsSchema = z.array(z.strictObject({ title: text(75), message: text(3000) })).max(4);

/** The bot scopes and events that Slack has, as far as this app may ask for them. */
const knownScopes = [
  "app_mentions:read",
  "assistant:write",
  "channels:history",
  "channels:read",
  "chat:write",
  "commands",
  "canvases:read",
  "files:read",
  "files:write",
  "groups:history",
  "groups:read",
  "im:history",
  "im:read",
  "im:write",
  "mpim:history",
  "mpim:read",
  "reactions:write",
  "usergroups:read",
  "users:read",
  "users:read.email",
] as const;
const knownEvents = [
  "agent_session_stopped",
  "app_context_changed",
  "app_home_opened",
  "app_mention",
  "message.channels",
  "message.groups",
  "message.im",
  "message.mpim",
] as const;

export const manifestSchema = z.strictObject({
  display_information: z.strictObject({ name: text(35), description: text(140).optional() }),
  features: z
    .strictObject({
      app_home: z
        .strictObject({
          home_tab_enabled: z.boolean().optional(),
          messages_tab_enabled: z.boolean().optional(),
          messages_tab_read_only_enabled: z.boolean().optional(),
        })
        .optional(),
      bot_user: z
        .strictObject({ display_name: text(80), always_online: z.boolean().optional() })
        .optional(),
      slash_commands: z
        .array(
          z.strictObject({
            command: z.string().regex(/^\/[^\s/A-Z]{1,31}$/),
            description: text(2000),
            should_escape: z.boolean().optional(),
            url: address.optional(),
            usage_hint: text(1000).optional(),
          }),
        )
        .max(50)
        .optional(),
      shortcuts: z
        .array(
          z.strictObject({
            name: text(24),
            type: z.enum(["message", "global"]),
            callback_id: text(255),
            description: text(150),
          }),
        )
        .max(10)
        .optional(),
      agent_view: z
        .strictObject({
          agent_description: text(300).optional(),
          suggested_prompts: promptsSchema.optional(),
        })
        .optional(),
    })
    .optional(),
  oauth_config: z
    .strictObject({
      redirect_urls: z.array(address).max(1000).optional(),
      scopes: z.strictObject({ bot: z.array(z.enum(knownScopes)).max(255).optional() }).optional(),
    })
    .optional(),
  settings: z
    .strictObject({
      event_subscriptions: z
        .strictObject({
          request_url: address.optional(),
          bot_events: z.array(z.enum(knownEvents)).max(100).optional(),
        })
        .optional(),
      interactivity: z
        .strictObject({ is_enabled: z.boolean(), request_url: address.optional() })
        .optional(),
      org_deploy_enabled: z.boolean().optional(),
      socket_mode_enabled: z.boolean().optional(),
      token_rotation_enabled: z.boolean().optional(),
    })
    .optional(),
});

/** Over HTTP, events need an address. */
const checkedSchema = manifestSchema.refine(
  ({ settings = {} }) =>
    settings.socket_mode_enabled === true ||
    settings.event_subscriptions === undefined ||
    settings.event_subscriptions.request_url !== undefined,
  { path: ["settings", "event_subscriptions"], message: "request_url or Socket Mode is needed" },
);

/** Slack's own form of the errors. */
export function findManifestErrors(json: unknown): { message: string; pointer: string }[] {
  const { error } = checkedSchema.safeParse(json);
  return (error?.issues ?? []).map(({ message, path }) => ({
    message,
    pointer: `/${path.join("/")}`,
  }));
}
