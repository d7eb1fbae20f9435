/** Why Slack cannot be talked to, in words for the person who started it; never with a token. */

const whereFrom = {
  app: 'The app token begins with xapp-; it is made under "Basic Information", "App-Level Tokens", with the scope connections:write.',
  bot: 'The bot token begins with xoxb-; it stands under "OAuth & Permissions" when the app is installed.',
};

/** By the error names of https://docs.slack.dev/reference/methods/apps.connections.open and auth.test. */
const words: Record<string, string> = {
  not_allowed_token_type: "It is a token of another kind.",
  missing_scope: "It lacks a scope.",
  invalid_auth: "Slack does not know it.",
  token_revoked: "It was revoked.",
  token_expired: "Its time is over.",
  account_inactive: "The app was removed from the workspace.",
};
const otherwise = {
  app: "Is Socket Mode switched on for the app (npx sekisho manifest --socket)?",
  bot: "Is the app installed?",
};

/** What is thrown to the command line, where its message is printed. `name` is how the person knows the token. */
export function refusedBySlack({
  thrown,
  apiUrl,
  name,
  kind,
}: {
  thrown: unknown;
  apiUrl: string;
  name: string;
  kind: "app" | "bot";
}): Error {
  const error = slackErrorOf(thrown);
  if (error === undefined) {
    const { origin } = new URL(apiUrl);
    return new Error(`Slack is not to be reached at ${origin}. Is this machine online?`, { cause: thrown });
  }
  return new Error(`Slack does not take ${name} (${error}). ${refusalWords({ error, kind })}`, { cause: thrown });
}

/** Why, and where the right token is to be found. `error` is Slack's own name of it. */
export function refusalWords({ error, kind }: { error: string; kind: "app" | "bot" }): string {
  return `${words[error] ?? otherwise[kind]} ${whereFrom[kind]}`;
}

/** Slack's own name of an error (`invalid_auth`), as its client throws it. */
function slackErrorOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("data" in thrown)) return undefined;
  const { data } = thrown;
  if (typeof data !== "object" || data === null || !("error" in data)) return undefined;
  return typeof data.error === "string" && /^[a-z_]{1,64}$/.test(data.error) ? data.error : undefined;
}
