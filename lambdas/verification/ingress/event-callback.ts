/** The envelope of an Events API event, and the installation that it names. */
import * as z from "zod/mini";
import { slackId } from "../slack/api/user-text.ts";

export const slackTs = z.string().check(z.regex(/^(?=.{3,32}$)\d+\.\d+$/));

/** The recipient of an event: the bot, or a person who gave the app a user token (`is_bot: false`). */
const authorizationSchema = z.object({
  user_id: slackId,
  is_bot: z.nullish(z.boolean()),
  is_enterprise_install: z.nullish(z.boolean()),
  enterprise_id: z.nullish(slackId),
});

/** The envelope of an Events API event (https://docs.slack.dev/apis/events-api#callback-field). */
export const eventCallbackSchema = z.object({
  type: z.literal("event_callback"),
  api_app_id: slackId,
  team_id: slackId,
  enterprise_id: z.nullish(slackId),
  /** The workspace and organization of the installation, if they differ from the author's (Enterprise Grid, Slack Connect). */
  context_team_id: z.nullish(slackId),
  context_enterprise_id: z.nullish(slackId),
  /** Has at most one installation, even if several are in the channel. */
  authorizations: z.nullish(z.array(authorizationSchema)),
  /** The channel is shared with other organizations (Slack Connect). */
  is_ext_shared_channel: z.nullish(z.boolean()),
  event: z.looseObject({ type: z.string() }),
});
export type EventCallback = z.infer<typeof eventCallbackSchema>;

/** `enterprise` is absent if the app is installed in the workspace itself. */
type InstallationFields = { team: string; enterprise?: string };

/** With Slack Connect, `team_id` may be the author's workspace. The authorization says whether the organization installed the app. */
export function readInstallation(callback: EventCallback): InstallationFields {
  const authorization = (callback.authorizations ?? []).find(
    ({ is_enterprise_install }) => is_enterprise_install,
  );
  const organization =
    authorization &&
    (authorization.enterprise_id ?? callback.context_enterprise_id ?? callback.enterprise_id);
  return installationFields(callback.context_team_id ?? callback.team_id, organization);
}

/**
 * The workspace of a person who acts without a message. Slack names only the event's workspace. In a channel that is shared with other
 * organizations, the installation's own workspace there says nothing about the person.
 */
export function readActorTeam(callback: EventCallback): { userTeam?: string } {
  const { team_id: userTeam, is_ext_shared_channel: isShared } = callback;
  return isShared && userTeam === readInstallation(callback).team ? {} : { userTeam };
}

export function installationFields(
  team: string,
  organization: string | null | undefined,
): InstallationFields {
  return organization ? { team, enterprise: organization } : { team };
}
