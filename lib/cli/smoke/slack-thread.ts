/** Slack for the smoke test, as the stage's bot: posts the messages whose threads hold the tasks, and reads the threads. */
import * as z from "zod";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { callWebApi, toSlackError } from "../../../lambdas/verification/slack/api/web-call.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { once } from "../doctor/check.ts";

/** The sender of a post, as Slack names it. */
export type BotOfStage = { appId: string; botUser: string; team: string };

export type SlackThread = {
  /** The workspace of the bot token. */
  team(): Promise<string>;
  /** Resolves to the post's `ts`. */
  post(request: { text: string; threadTs?: string }): Promise<{ ts: string; bot: BotOfStage }>;
  /** True if a reply in the thread has a file. */
  hasFile(request: { threadTs: string }): Promise<boolean>;
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

type ThreadOptions = {
  slack: Pick<Config["slack"], "apiUrl">;
  token: string;
  channel: string;
  signal: AbortSignal;
};

/** Rejects with an AwsFailure that says what to do and does not hold the token. */
export function openSlackThread({
  slack: { apiUrl },
  token,
  channel,
  signal,
}: ThreadOptions): SlackThread {
  async function call<T>(
    method: string,
    args: Record<string, unknown>,
    schema: z.ZodType<T>,
  ): Promise<T> {
    const request = { token: async () => token, apiUrl, method, args, timeoutMs, signal };
    const answer = await callWebApi(request).catch((thrown: unknown) => {
      const { slackError, kind } = toSlackError(thrown);
      const why = slackError ?? kind;
      const remedy =
        remedies[why] ?? `https://docs.slack.dev/reference/methods says what ${why} means.`;
      throw new AwsFailure(`Slack refuses ${method} in ${channel} (${why}). ${remedy}`);
    });
    const { data } = schema.safeParse(answer);
    if (data === undefined) throw new AwsFailure(`Slack's answer to ${method} cannot be read.`);
    return data;
  }

  const team = once(async () => (await call("auth.test", {}, identitySchema)).team_id);
  return {
    team,
    async post({ text, threadTs }) {
      const args = { channel, text, ...(threadTs !== undefined && { thread_ts: threadTs }) };
      const bot = { team: await team() };
      const { ts, message } = await call("chat.postMessage", args, postedSchema);
      return { ts, bot: { ...bot, appId: message.app_id, botUser: message.user } };
    },
    async hasFile({ threadTs }) {
      const { messages } = await call(
        "conversations.replies",
        { channel, ts: threadTs, limit: 50 },
        threadSchema,
      );
      return messages.some(({ ts, files = [] }) => ts !== threadTs && files.length > 0);
    },
  };
}

const invite = "Is the bot in that channel? Invite it.";
const putToken =
  "The bot token is not valid: put the one of the installed app into the stage's secret.";
const retry = "Try again later.";

/** By Slack's name of the error, or by the kind of the failure where Slack named none. */
const remedies: Record<string, string> = {
  not_in_channel: invite,
  channel_not_found: invite,
  missing_scope: "The app lacks a scope: update it by its manifest, and install it again.",
  invalid_auth: putToken,
  not_authed: putToken,
  account_inactive: putToken,
  token_expired: putToken,
  token_revoked: putToken,
  is_archived: "Name another channel.",
  ratelimited: retry,
  rate_limited: retry,
  unavailable: retry,
  ambiguous: retry,
};
