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
    "Counts in this workspace (T…), or in this organization (E…) if the app is installed in all of it. Required with slack.install.",
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
    .describe("The app's signing secret, which proves that requests come from Slack."),
  botToken: secretSchema
    .default({ env: "SLACK_BOT_TOKEN" })
    .describe("The bot token (xoxb-…), which calls the Slack Web API."),
  appToken: secretSchema
    .default({ env: "SLACK_APP_TOKEN" })
    .describe(
      "The app-level token (xapp-…) for Socket Mode on one machine, which needs no public address.",
    ),
  apiUrl: httpUrl().default("https://slack.com/api/").describe("The URL of the Slack Web API."),
  locale: z
    .enum(["en", "ja", "user"])
    .default("user")
    .describe(
      "The language of Sekisho's texts in Slack, and of the app's manifest. user: each user's own language, or English if it is not supported; the manifest is in English.",
    ),
  threadReplies: z
    .boolean()
    .default(true)
    .describe("Takes replies without a mention in threads in which the bot was asked before."),
  directMessages: z
    .enum(["threads", "one-conversation"])
    .default("threads")
    .describe(
      "What a conversation in a direct message is. threads: each thread, as in a channel; a message outside of a thread begins a new one. one-conversation: the whole direct message, so that the agent's memory spans all of it; a message outside of a thread has the direct message since the last pause of 30 minutes as its history.",
    ),
  helpWord: z
    .boolean()
    .default(true)
    .describe(
      "Answers a message that is nothing but `help` (`ヘルプ`, `使い方`) with five lines about the bot, which is no task. false: the agent gets it like any other message, which an agent with a `help` of its own needs.",
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
            "Where the answer is posted: in a new thread of the channel (channel), or in a direct message (person).",
          ),
      },
      {
        error: ({ code }) =>
          code === "invalid_type" ? 'must be an object such as { "name": "/sekisho" }' : undefined,
      },
    )
    .optional()
    .describe("Adds a slash command. The app's manifest includes it. Default: none."),
  shortcut: z
    .strictObject({
      name: z
        .string()
        .min(1)
        .max(24)
        .optional()
        .describe(
          'What the menu of a message calls the shortcut, at most 24 characters. Default: "Ask about this", or the same in Japanese where locale is ja.',
        ),
    })
    .optional()
    .describe(
      "Adds a shortcut to the menu of every message: a person hands the message to the bot, with an instruction if they like. The app's manifest includes it. Default: none.",
    ),
  assistant: z
    .strictObject({
      description: z
        .string()
        .min(1)
        .max(300)
        .optional()
        .describe(
          "What the bot does, as Slack shows it to people who look for agents. Default: a sentence in the language of locale.",
        ),
      prompts: z
        .array(
          z.strictObject({
            title: z.string().min(1).max(75).describe("What the suggestion says."),
            message: z
              .string()
              .min(1)
              .max(3000)
              .describe("The message that a person sends by choosing it."),
          }),
        )
        .max(4)
        .default([])
        .describe("Up to 4 prompts that a new conversation suggests."),
    })
    .optional()
    .describe(
      "Declares the app as an agent in Slack: conversations with suggested prompts, a session for each thread, and Slack's own stop button. Default: none.",
    ),
  reactions: z
    .union(
      [
        z.literal(false),
        z.strictObject({
          received: emojiSchema.default("eyes").describe("The emoji of a message whose task runs."),
          done: emojiSchema
            .default("white_check_mark")
            .describe("The emoji of a message that was answered."),
          failed: emojiSchema.default("x").describe("The emoji of a message whose task failed."),
        }),
      ],
      'must be false, or an object such as { "received": "eyes" }',
    )
    .prefault({})
    .describe(
      "The emoji reactions that mark a message while its task runs and when it is over. false: no reactions.",
    ),
  status: z
    .boolean()
    .default(true)
    .describe(
      "Shows in the thread what the bot does while a task runs, as Slack shows that a person is typing.",
    ),
  streaming: z
    .boolean()
    .default(true)
    .describe("Shows an answer while it is written, if the agent reports partial text."),
  context: z
    .strictObject({
      names: z
        .boolean()
        .default(true)
        .describe(
          "Adds the names of people to their ids in texts and to their messages in the history. Scope: users:read.",
        ),
      groups: z
        .boolean()
        .default(false)
        .describe("Adds the handles of user groups to their ids in texts. Scope: usergroups:read."),
      channel: z
        .boolean()
        .default(false)
        .describe(
          "Sends the name, the kind and the topic of the channel, and adds the names of public channels to their ids in texts. Scopes: channels:read, groups:read, im:read and mpim:read.",
        ),
      open: z
        .boolean()
        .default(false)
        .describe(
          "Sends what the person has open in Slack when they write to the bot directly, as far as both the person and the bot are in that channel. Needs slack.assistant. Scopes: as for channel.",
        ),
      forwards: z
        .boolean()
        .default(true)
        .describe(
          "Sends the messages that a person forwards, as quotations. false: neither their texts nor their files are read.",
        ),
      files: z
        .boolean()
        .default(true)
        .describe(
          "Sends the files of forwarded messages and of earlier messages of the thread. false: only those of the message itself.",
        ),
      otherApps: z
        .boolean()
        .default(true)
        .describe(
          "Sends what other apps and workflows posted in the thread, such as alerts. false: the history has the messages of people and the agent's answers.",
        ),
    })
    .prefault({})
    .describe(
      "What the agent gets to know beside a message: about its people and channels, and of its thread. The app's manifest asks for the scopes of what is on. Without a scope the agent gets ids.",
    ),
  feedback: z
    .boolean()
    .default(true)
    .describe(
      "Shows 👍 and 👎 under each answer. Votes are counted in `sekisho usage`, and go to the Execution zone.",
    ),
  contact: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      "The person that refused users are told to ask, such as <@U012AB3CD>, <https://wiki.example/bot|our wiki> or a name. Default: the first user of admins.",
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
        .describe("The most installations per day (UTC). Repeated installations count too."),
    })
    .optional()
    .describe(
      "Lets several workspaces install the app through Slack's OAuth flow, at /slack/install. Default: off.",
    ),
});
