/** Asks Slack for the owner and the scopes of the bot token (https://docs.slack.dev/reference/methods/auth.test). */
import * as z from "zod";
import { callWebApi, toSlackError } from "../slack/api/web-call.ts";
import type { BotAnswer } from "./operator-call.ts";

const answerSchema = z.object({
  user: z.string().default("unknown"),
  team: z.string().default("unknown"),
  team_id: z.string().default("unknown"),
  /** `callWebApi` fills this from the header `x-oauth-scopes`. */
  response_metadata: z.object({ scopes: z.array(z.string()).optional() }).optional(),
});

/** Never rejects. */
export async function botIdentity(request: {
  readToken: () => Promise<string>;
  apiUrl: string;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<BotAnswer> {
  const { readToken, apiUrl, timeoutMs, signal } = request;
  let token: string;
  try {
    token = (await readToken()).trim();
  } catch (error) {
    return { state: "unreadable", error: error instanceof Error ? error.name : "Error" };
  }
  try {
    const call = { apiUrl, method: "auth.test", args: {}, timeoutMs, signal };
    const { data } = answerSchema.safeParse(
      await callWebApi({ token: async () => token, ...call }),
    );
    if (data === undefined) return { state: "unreachable", error: "invalid_response" };
    const { user, team, team_id: teamId, response_metadata: { scopes } = {} } = data;
    return { state: "accepted", user, team, teamId, ...(scopes && { scopes }) };
  } catch (error) {
    const { kind, slackError } = toSlackError(error);
    if (kind === "rate_limited") return { state: "refused", error: "ratelimited" };
    return slackError === undefined
      ? { state: "unreachable", error: kind }
      : { state: "refused", error: slackError };
  }
}
