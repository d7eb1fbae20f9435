/** The Slack part of the configuration: secrets, language and features. */
import * as z from "zod";
import { httpUrl, integer, secretSchema } from "./values.ts";

export const slackIdSchema = z.string().regex(/^[A-Z0-9]{1,64}$/, "a Slack id such as T012AB3CD");
const emojiSchema = z.string().regex(/^[a-z0-9_+'-]{1,100}$/, "an emoji's name without colons");

export const slackSchema = z.strictObject({
  signingSecret: secretSchema.default({ env: "SLACK_SIGNING_SECRET" }),
  botToken: secretSchema.default({ env: "SLACK_BOT_TOKEN" }),
  appToken: secretSchema
    .default({ env: "SLACK_APP_TOKEN" })
    .describe("For Socket Mode on one machine, which needs no public address."),
  apiUrl: httpUrl().default("https://slack.com/api/").describe("The URL of the Slack Web API."),
  locale: z
    .enum(["en", "ja", "user"])
    .default("user")
    .describe("The language of Sekisho's texts. user: each user's own language in Slack, or else English."),
  threadReplies: z.boolean().default(true).describe("Replies in a thread in which the bot was asked need no mention."),
  command: z
    .strictObject(
      {
        name: z.string().regex(/^\/[a-z0-9_-]{1,31}$/, "a slash and a name, such as /sekisho"),
        answerIn: z
          .enum(["channel", "person"])
          .default("channel")
          .describe("Where the answer goes: into a new thread of the channel, or to the person in a direct message."),
      },
      { error: ({ code }) => (code === "invalid_type" ? 'an object such as { "name": "/sekisho" }' : undefined) },
    )
    .optional()
    .describe("The slash command. The manifest includes its name."),
  assistant: z
    .strictObject({
      prompts: z
        .array(z.strictObject({ title: z.string().min(1).max(75), message: z.string().min(1).max(3000) }))
        .max(4)
        .default([])
        .describe("Suggested in a new conversation with the assistant."),
    })
    .optional()
    .describe("The app is an assistant too, with a panel beside the channels and a status while it works."),
  reactions: z
    .union(
      [
        z.literal(false),
        z.strictObject({
          received: emojiSchema.default("eyes"),
          done: emojiSchema.default("white_check_mark"),
          failed: emojiSchema.default("x"),
        }),
      ],
      "false, or names of emoji",
    )
    .prefault({})
    .describe("The reactions that mark a message while its task is under way, and when it is over."),
  streaming: z.boolean().default(true).describe("Show an answer while it is written, if the agent reports it."),
  contact: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Whom a refused person should ask, such as <@U012AB3CD> or a name."),
  admins: z
    .array(
      z.union(
        [z.strictObject({ user: slackIdSchema }), z.strictObject({ group: slackIdSchema })],
        '{ "user": "U…" } or { "group": "S…" }',
      ),
    )
    .default([])
    .describe("Who may cancel the tasks of others."),
  install: z
    .strictObject({
      clientId: z.string().regex(/^\d+\.\d+$/, "the app's client id"),
      clientSecret: secretSchema,
      teams: z
        .array(z.string().regex(/^[TE][A-Z0-9]{1,63}$/, "the id of a workspace (T…) or an organization (E…)"))
        .min(1)
        .optional()
        .describe("The workspaces and organizations that may install the app. Without it, all may."),
      maxPerDay: integer(1, 10_000)
        .default(50)
        .describe("The most installations in a day (UTC). Repeated ones count too."),
    })
    .optional()
    .describe("Lets several workspaces install the app by Slack's OAuth flow, at /slack/install."),
});
