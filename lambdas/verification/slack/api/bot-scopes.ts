/** Which scopes of Slack (https://docs.slack.dev/reference/scopes) the bot needs, by what the configuration uses. */
import type { Config } from "../../../shared/config/schema.ts";

export type ScopeConfig = Pick<Config, "slack" | "files" | "allowlist" | "destinations">;

/** Exactly those, sorted: what the manifest asks for and what the OAuth flow does. */
export function botScopes(config: ScopeConfig): string[] {
  const { command, assistant, reactions, locale } = config.slack;
  return [
    "app_mentions:read",
    "chat:write",
    // To be told of messages, and to find in a thread what was said and what was posted already.
    "channels:history",
    "groups:history",
    "im:history",
    "mpim:history",
    // A very long answer becomes a file, whatever the agent gives.
    "files:write",
    ...(config.files.maxCount > 0 ? ["files:read"] : []),
    ...(reactions === false ? [] : ["reactions:write"]),
    ...(locale === "user" ? ["users:read"] : []),
    ...(namesGroup(config) ? ["usergroups:read"] : []),
    // Where the bot may not post in the channel, a command is answered in a direct message, wherever it should have been.
    ...(command === undefined ? [] : ["commands", "im:write"]),
    ...(assistant === undefined ? [] : ["assistant:write"]),
  ].sort();
}

/** Who is a member has to be asked where a rule of who may ask, answer or cancel names a user group. */
function namesGroup({ allowlist, slack, destinations }: ScopeConfig): boolean {
  return (
    allowlist.some(({ group }) => group !== undefined) ||
    slack.admins.some((admin) => "group" in admin) ||
    Object.values(destinations).some(({ questions }) => typeof questions.answerBy === "object")
  );
}
