/** Looks up a bot token (https://docs.slack.dev/reference/methods/auth.test), and explains tokens that Slack refuses. */

import { sekisho } from "@sekisho/runtime/command-line.ts";
import { findProxyError } from "@sekisho/runtime/http/tunnel.ts";
import { callWebApi, toSlackError } from "@sekisho/verification/slack/api/web-call.ts";
import * as z from "zod";

export type SlackIdentity = { bot: string; team: string; teamId: string };

const answerSchema = z.object({ user: z.string(), team: z.string(), team_id: z.string() });
const timeoutMs = 10_000;

type IdentityRequest = {
  botToken: () => Promise<string>;
  apiUrl: string;
  name: string;
  signal: AbortSignal;
};

/** `name` is the token's name in messages. Rejects with a message for the user. */
export async function fetchSlackIdentity({
  botToken,
  apiUrl,
  name,
  signal,
}: IdentityRequest): Promise<SlackIdentity> {
  // Outside of the catch below: its error already has a message for the user.
  const token = await botToken();
  const call = {
    token: async () => token,
    apiUrl,
    method: "auth.test",
    args: {},
    timeoutMs,
    signal,
  };
  const answer = await callWebApi(call).catch((error: unknown) => {
    throw toTokenError({ thrown: error, apiUrl, name, kind: "bot" });
  });
  const { user, team, team_id } = answerSchema.parse(answer);
  return { bot: user, team, teamId: team_id };
}

const whereFrom = {
  app: 'The app token begins with xapp-. Create it under "Basic Information", "App-Level Tokens", with the scope connections:write.',
  bot: 'The bot token begins with xoxb-. Find it under "OAuth & Permissions" after installing the app.',
};

/** Errors of https://docs.slack.dev/reference/methods/apps.connections.open and auth.test. */
const refusalTexts: Record<string, string> = {
  not_allowed_token_type: "It is another kind of token.",
  missing_scope: "It lacks a scope.",
  invalid_auth: "Slack does not know it.",
  token_revoked: "It was revoked.",
  token_expired: "It has expired.",
  account_inactive: "The app was removed from the workspace.",
};
const otherwise = {
  app: `Is Socket Mode switched on for the app (${sekisho} manifest --socket)?`,
  bot: "Is the app installed?",
};

type TokenFailure = { thrown: unknown; apiUrl: string; name: string; kind: "app" | "bot" };

/** An error whose message the command line prints. It never holds a token. `name` is the token's name in the message. */
export function toTokenError({ thrown: cause, apiUrl, name, kind }: TokenFailure): Error {
  const { slackError: error } = toSlackError(cause);
  if (error === undefined) {
    const { origin } = new URL(apiUrl);
    const why = findProxyError(cause)?.message ?? "Is this machine online?";
    return new Error(`Slack cannot be reached at ${origin}. ${why}`, { cause: cause });
  }
  return new Error(`Slack refuses ${name} (${error}). ${tokenRefusalText({ error, kind })}`, {
    cause: cause,
  });
}

/** Says why Slack refuses the token, and where the right one is. `error` is Slack's name of the refusal. */
export function tokenRefusalText({ error, kind }: { error: string; kind: "app" | "bot" }): string {
  return `${refusalTexts[error] ?? otherwise[kind]} ${whereFrom[kind]}`;
}
