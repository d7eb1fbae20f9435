/** Who the bot token is (https://docs.slack.dev/reference/methods/auth.test): asked before anything is started, so that a wrong one is told at once. */
import * as z from "zod";
import { callWebApi } from "../../lambdas/verification/slack/api/call.ts";

export type SlackIdentity = { bot: string; team: string; teamId: string };

const answerSchema = z.object({ user: z.string(), team: z.string(), team_id: z.string() });
const timeoutMs = 10_000;

/** `name` is how a person knows the token. Rejects with words for a person. */
export async function fetchSlackIdentity({
  botToken,
  apiUrl,
  name,
  signal,
}: {
  botToken: () => Promise<string>;
  apiUrl: string;
  name: string;
  signal: AbortSignal;
}): Promise<SlackIdentity> {
  // What the secret's own read says is already for a person.
  const token = await botToken();
  const call = { token: async () => token, apiUrl, method: "auth.test", args: {}, timeoutMs, signal };
  const answer = await callWebApi(call).catch((thrown: unknown) => {
    throw toTokenError({ thrown, apiUrl, name, kind: "bot" });
  });
  const { user, team, team_id } = answerSchema.parse(answer);
  return { bot: user, team, teamId: team_id };
}

// Why Slack cannot be talked to, in words for the person who started it; never with a token.

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
export function toTokenError({
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
  return new Error(`Slack does not take ${name} (${error}). ${tokenRefusalText({ error, kind })}`, { cause: thrown });
}

/** Why, and where the right token is to be found. `error` is Slack's own name of it. */
export function tokenRefusalText({ error, kind }: { error: string; kind: "app" | "bot" }): string {
  return `${words[error] ?? otherwise[kind]} ${whereFrom[kind]}`;
}

/** Slack's own name of an error (`invalid_auth`), as its client throws it. */
function slackErrorOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("data" in thrown)) return undefined;
  const { data } = thrown;
  if (typeof data !== "object" || data === null || !("error" in data)) return undefined;
  return typeof data.error === "string" && /^[a-z_]{1,64}$/.test(data.error) ? data.error : undefined;
}
