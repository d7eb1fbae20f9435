/** Whose token a message is answered with: always the installation's, never that of the author's own workspace. */
import type { EventCallback } from "./payload.ts";

/** As the queue carries it: without the field where the app is installed in the workspace itself. */
type InstallationFields = { team: string; enterprise?: string };

/** With Slack Connect `team_id` may be the author's; where the app is installed in the organization, the authorization says so. */
export function installationOfEvent(callback: EventCallback): InstallationFields {
  const authorization = (callback.authorizations ?? []).find(({ is_enterprise_install }) => is_enterprise_install);
  const organization =
    authorization && (authorization.enterprise_id ?? callback.context_enterprise_id ?? callback.enterprise_id);
  return installationFields({ team: callback.context_team_id ?? callback.team_id, organization });
}

export function installationFields({
  team,
  organization,
}: {
  team: string;
  organization: string | null | undefined;
}): InstallationFields {
  return organization ? { team, enterprise: organization } : { team };
}
