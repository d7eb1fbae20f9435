/** The smoke test in Slack, as the stage's bot: posts the messages that its tasks hang below, and reads their threads. */
import * as z from "zod";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { callWebApi, toSlackError } from "../../../lambdas/verification/slack/api/call.ts";
import { AwsFailure } from "../aws/aws-failure.ts";

/** The sender of a post, as Slack names it. */
export type BotOfStage = { appId: string; botUser: string; team: string };

export type SlackThread = {
  /** The workspace of the bot token. */
  team(): Promise<string>;
  /** Resolves to the post's `ts`. */
  post(request: { text: string; threadTs?: string }): Promise<{ ts: string; bot: BotOfStage }>;
  /** How many messages the bot has in the thread below its first post, and whether one of them has a file. */
  read(request: { threadTs: string }): Promise<{ replies: number; hasFile: boolean }>;
};

const timeoutMs = 10_000;
const postedSchema = z.object({
  ts: z.string(),
  message: z.object({ app_id: z.string(), user: z.string() }),
});
const identitySchema = z.object({ team_id: z.string() });
const threadSchema = z.object({
  messages: z.array(z.object({ ts: z.string(), files: z.array(z.unknown()).optional() })),
});

/** Rejects with an AwsFailure that says what to do, never with the token. */
export function openSlackThread({
  slack: { apiUrl },
  token,
  channel,
  signal,
}: {
  slack: Pick<Config["slack"], "apiUrl">;
  token: string;
  channel: string;
  signal: AbortSignal;
}): SlackThread {
  let team: string | undefined;

  async function call<T>({
    method,
    args,
    schema,
  }: {
    method: string;
    args: Record<string, unknown>;
    schema: z.ZodType<T>;
  }): Promise<T> {
    const answered = await callWebApi({ token: async () => token, apiUrl, method, args, timeoutMs, signal }).catch(
      (thrown: unknown) => {
        const { slackError, kind } = toSlackError(thrown);
        const why = slackError ?? kind;
        throw new AwsFailure(`Slack refuses ${method} in ${channel} (${why}). ${remedyOf(why)}`);
      },
    );
    const { data } = schema.safeParse(answered);
    if (data === undefined) throw new AwsFailure(`What Slack answers to ${method} cannot be read.`);
    return data;
  }

  async function readTeam(): Promise<string> {
    team ??= (await call({ method: "auth.test", args: {}, schema: identitySchema })).team_id;
    return team;
  }

  return {
    team: readTeam,
    async post({ text, threadTs }) {
      const team = await readTeam();
      const args = { channel, text, ...(threadTs !== undefined && { thread_ts: threadTs }) };
      const { ts, message } = await call({ method: "chat.postMessage", args, schema: postedSchema });
      return { ts, bot: { appId: message.app_id, botUser: message.user, team } };
    },
    async read({ threadTs }) {
      const args = { channel, ts: threadTs, limit: 50 };
      const { messages } = await call({ method: "conversations.replies", args, schema: threadSchema });
      const replies = messages.filter(({ ts }) => ts !== threadTs);
      return { replies: replies.length, hasFile: replies.some(({ files = [] }) => files.length > 0) };
    },
  };
}

/** By Slack's name of the error, or by the kind of the failure where Slack named none. */
function remedyOf(why: string): string {
  switch (why) {
    case "not_in_channel":
    case "channel_not_found":
      return "Is the bot in that channel? Invite it.";
    case "missing_scope":
      return "The app lacks a scope: update it by its manifest, and install it again.";
    case "invalid_auth":
    case "not_authed":
    case "account_inactive":
    case "token_expired":
    case "token_revoked":
      return "The bot token is not valid: put the one of the installed app into the stage's secret.";
    case "is_archived":
      return "Name another channel.";
    case "ratelimited":
    case "rate_limited":
    case "unavailable":
    case "ambiguous":
      return "Try again later.";
    default:
      return `https://docs.slack.dev/reference/methods says what ${why} means.`;
  }
}
