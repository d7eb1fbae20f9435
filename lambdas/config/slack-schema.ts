/** The Slack part of the configuration: secrets, language and features. */
import * as z from "zod";
import { httpUrl, integer, secretSchema } from "./values.ts";

export const slackIdSchema = z
  .string()
  .regex(/^[A-Z0-9]{1,64}$/, "must be a Slack id such as T012AB3CD");
/** The `team` of an entry that names people. */
export const teamSchema = slackIdSchema
  .optional()
  .describe(
    "The workspace (T…), or the organization (E…) if the app is installed in all of it. Required with slack.install.",
  );
export const botIdSchema = z
  .string()
  .regex(
    /^([AB][A-Z0-9]{1,63}|Wf[A-Z0-9]{1,62})$/,
    "must be the id of a bot (B…), an app (A…) or a workflow (Wf…)",
  );
const emojiSchema = z
  .string()
  .regex(/^[a-z0-9_+'-]{1,100}$/, "must be the name of an emoji without colons");

export const slackSchema = z.strictObject({
  signingSecret: secretSchema
    .default({ env: "SLACK_SIGNING_SECRET" })
    .describe("The signing secret of the app."),
  botToken: secretSchema.default({ env: "SLACK_BOT_TOKEN" }).describe("The bot token (xoxb-…)."),
  appToken: secretSchema
    .default({ env: "SLACK_APP_TOKEN" })
    .describe("The app-level token (xapp-…) for Socket Mode, on one machine only."),
  apiUrl: httpUrl().default("https://slack.com/api/").describe("The URL of the Slack Web API."),
  locale: z
    .enum(["en", "ja", "user"])
    .default("user")
    .describe(
      "The language of Sekisho's texts in Slack and of the manifest. user: each user's own, else English; the manifest is in English.",
    ),
  threadReplies: z
    .boolean()
    .default(true)
    .describe("Takes replies without a mention in threads where the bot was asked."),
  directMessages: z
    .enum(["threads", "one-conversation"])
    .default("threads")
    .describe(
      "What a conversation is in a direct message: each thread, or the whole direct message.",
    ),
  helpWord: z
    .boolean()
    .default(true)
    .describe(
      "Answers a message of only `help` (`ヘルプ`, `使い方`) with five lines about the bot. false: the agent gets it.",
    ),
  command: z
    .strictObject(
      {
        name: z
          .string()
          .regex(/^\/[a-z0-9_-]{1,31}$/, "must be a slash and a name, such as /sekisho")
          .describe("The name of the command, with its slash."),
        answerIn: z
          .enum(["channel", "person"])
          .default("channel")
          .describe(
            "Where the answer is posted: in a new thread of the channel, or in a direct message.",
          ),
      },
      {
        error: ({ code }) =>
          code === "invalid_type" ? 'must be an object such as { "name": "/sekisho" }' : undefined,
      },
    )
    .optional()
    .describe("Adds a slash command, also to the manifest. Default: none."),
  shortcut: z
    .strictObject({
      name: z
        .string()
        .min(1)
        .max(24)
        .optional()
        .describe(
          'The name in the menu. Default: "Ask about this", or the same in Japanese where locale is ja.',
        ),
    })
    .optional()
    .describe("Adds a shortcut to the menu of every message, also to the manifest. Default: none."),
  assistant: z
    .strictObject({
      description: z
        .string()
        .min(1)
        .max(300)
        .optional()
        .describe(
          "What the bot does, as Slack shows it. Default: a sentence in the language of locale.",
        ),
      prompts: z
        .array(
          z.strictObject({
            title: z.string().min(1).max(75).describe("What the suggestion says."),
            message: z.string().min(1).max(3000).describe("The message that it sends."),
          }),
        )
        .max(4)
        .default([])
        .describe("Prompts that a new conversation suggests."),
    })
    .optional()
    .describe(
      "Declares the app as an agent in Slack: suggested prompts, and Slack's stop button. Default: none.",
    ),
  reactions: z
    .union(
      [
        z.literal(false),
        z.strictObject({
          received: emojiSchema.default("eyes").describe("While its task runs."),
          done: emojiSchema.default("white_check_mark").describe("After the answer."),
          failed: emojiSchema.default("x").describe("After a failure."),
        }),
      ],
      'must be false, or an object such as { "received": "eyes" }',
    )
    .prefault({})
    .describe("The emoji that mark a message. false: none."),
  status: z
    .boolean()
    .default(true)
    .describe("Shows what the bot does while a task runs, as Slack shows typing."),
  streaming: z.boolean().default(true).describe("Shows an answer while it is written."),
  context: z
    .strictObject({
      names: z
        .boolean()
        .default(true)
        .describe("Names of people beside their ids. Scope: users:read."),
      groups: z
        .boolean()
        .default(false)
        .describe("Handles of user groups beside their ids. Scope: usergroups:read."),
      channel: z
        .boolean()
        .default(false)
        .describe(
          "Name, kind and topic of the channel, and names of channels in texts. Scopes: channels:read, groups:read, im:read and mpim:read.",
        ),
      open: z
        .boolean()
        .default(false)
        .describe(
          "What the person has open in Slack, if both the person and the bot are in that channel. Needs slack.assistant. Scopes: as for channel.",
        ),
      forwards: z
        .boolean()
        .default(true)
        .describe("Messages that a person forwards, as quotations."),
      files: z
        .boolean()
        .default(true)
        .describe(
          "Files of forwarded and earlier messages. false: only those of the message itself.",
        ),
      otherApps: z
        .boolean()
        .default(true)
        .describe("What other apps and workflows posted in the thread."),
    })
    .prefault({})
    .describe(
      "What the agent gets beside a message. The manifest asks for the scopes of what is on.",
    ),
  feedback: z.boolean().default(true).describe("Shows 👍 and 👎 under each answer."),
  contact: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      "Whom refused users are told to ask, such as <@U012AB3CD>, <https://wiki.example/bot|our wiki> or a name. Default: the first user of admins.",
    ),
  admins: z
    .array(
      z.union(
        [
          z.strictObject({
            team: teamSchema,
            user: slackIdSchema.describe("The id of a user (U…)."),
          }),
          z.strictObject({
            team: teamSchema,
            group: slackIdSchema.describe("The id of a user group (S…), instead of a user."),
          }),
        ],
        'must be { "user": "U…" } or { "group": "S…" }, with "team": "T…" if there is slack.install',
      ),
    )
    .default([])
    .describe("Users and user groups that may cancel the tasks of others."),
  install: z
    .strictObject({
      clientId: z
        .string()
        .regex(/^\d+\.\d+$/, "must be the app's client id: two numbers with a dot in between")
        .describe("The app's client id."),
      clientSecret: secretSchema.describe("The app's client secret."),
      teams: z
        .array(
          z
            .string()
            .regex(
              /^[TE][A-Z0-9]{1,63}$/,
              "must be the id of a workspace (T…) or an organization (E…)",
            ),
        )
        .min(1)
        .optional()
        .describe(
          "The workspaces (T…) and organizations (E…) that may install the app. Default: all.",
        ),
      maxPerDay: integer(1, 10_000)
        .default(50)
        .describe("The most installations per day (UTC), repeated ones included."),
    })
    .optional()
    .describe("Lets several workspaces install the app, at /slack/install. Default: off."),
});
