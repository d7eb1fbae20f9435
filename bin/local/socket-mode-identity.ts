/** Who the bot token is (https://docs.slack.dev/reference/methods/auth.test): asked before anything is started, so that a wrong one is told at once. */
import * as z from "zod";
import { callWebApi } from "../../lambdas/verification/slack/web-api-call.ts";
import { refusedBySlack } from "./socket-mode-refused.ts";

export type SlackIdentity = { bot: string; team: string; teamId: string };

const answerSchema = z.object({ user: z.string(), team: z.string(), team_id: z.string() });
const timeoutMs = 10_000;

/** `name` is how a person knows the token. Rejects with words for a person. */
export async function askWhoWeAre({
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
    throw refusedBySlack({ thrown, apiUrl, name, kind: "bot" });
  });
  const { user, team, team_id } = answerSchema.parse(answer);
  return { bot: user, team, teamId: team_id };
}
