/** The destinations of the configuration: where tasks can be sent, and over which transport. */
import * as z from "zod";
import { dialectSchema } from "../../../contracts/dialects.ts";
import { authorizerSchema } from "./authorizer-schema.ts";
import { httpUrl, integer } from "./values.ts";

const anyDestination = {
  deadlineMs: integer(1000, 8 * 3600_000)
    .default(4 * 3600_000)
    .describe(
      "The longest that a task may take, from its turn in its thread on. On AgentCore, a session takes only tasks that fit into the rest of its life.",
    ),
  concurrency: z
    .enum(["thread", "parallel"])
    .default("thread")
    .describe("thread: runs the tasks of one thread one at a time, in the order of their messages."),
  longPollMs: integer(0, 25_000)
    .default(0)
    .describe("How long a poll may wait at the peer for news. Both sides may have to pay for the time."),
  sendsAtOnce: integer(1, 1000)
    .optional()
    .describe(
      "Tasks that one process sends there at once, and a quarter as many polls. Default: limits.sendsPerDestination.",
    ),
  dialect: dialectSchema.default("zone").describe("The dialect of the error numbers that the peer sends."),
  idempotent: z
    .boolean()
    .describe(
      "True if the peer deduplicates by request id. Otherwise, a send whose outcome is unknown is not repeated.",
    ),
  forwardBotToken: z.boolean().default(false).describe("Also send the Slack bot token. Only for agents that need it."),
  maxResponseBytes: integer(1024).default(1024 * 1024),
  questions: z
    .strictObject({
      answerBy: z
        .union(
          [z.enum(["asker", "anyone"]), z.strictObject({ group: z.string().regex(/^[A-Z0-9]{1,64}$/, "a Slack id") })],
          '"asker", "anyone" (who may ask there), or { "group": "S…" }',
        )
        .default("asker")
        .describe("Who may answer the agent's questions."),
      expireAfterMs: integer(1000, 24 * 3600_000)
        .default(8 * 3600_000)
        .describe("The longest that a question stays open."),
    })
    .prefault({})
    .describe("Questions and approvals that the agent asks for."),
};

export const destinationSchema = z.discriminatedUnion("transport", [
  z
    .strictObject({
      transport: z.literal("in-process"),
      ...anyDestination,
      idempotent: anyDestination.idempotent.default(true),
    })
    .describe("The Execution host of the same process, called as a function. For the local run."),
  z
    .strictObject({
      transport: z.literal("https"),
      ...anyDestination,
      url: httpUrl().optional().describe("Default: the Execution host of the local run."),
      authorizer: authorizerSchema.default({ type: "none" }),
      idempotent: anyDestination.idempotent.optional().describe("Default: true without a url, false with one."),
    })
    .transform((destination) => ({
      ...destination,
      idempotent: destination.idempotent ?? destination.url === undefined,
    }))
    .describe("Plain HTTPS (http only on loopback)."),
  z
    .strictObject({
      transport: z.literal("a2a"),
      ...anyDestination,
      card: httpUrl().optional().describe("The agent card's address. Default: the Execution host of the local run."),
      url: httpUrl().optional().describe("Replaces the address that the card names."),
      version: z
        .enum(["highest", "1.0", "0.3"])
        .default("highest")
        .describe("The A2A version. highest: the highest that the card and Sekisho share."),
      authorizer: authorizerSchema.default({ type: "none" }),
      dialect: dialectSchema.default("a2a").describe("The dialect of the error numbers that the peer sends."),
      idempotent: anyDestination.idempotent.optional().describe("Default: true without a card, false with one."),
      longPollMs: z.literal(0, "A2A has no place for it").default(0),
      forwardBotToken: z.literal(false, "A2A has no place for it").default(false),
    })
    .refine(({ card, url }) => url === undefined || card !== undefined, {
      path: ["card"],
      message: "is missing: url stands in place of the address that a card names",
    })
    .transform((destination) => ({
      ...destination,
      idempotent: destination.idempotent ?? destination.card === undefined,
    }))
    .describe("An agent that speaks A2A (JSON-RPC over HTTPS; http only on loopback)."),
  z
    .strictObject({
      transport: z.literal("agentcore"),
      ...anyDestination,
      runtimeArn: z
        .string()
        .regex(/^arn:aws[a-z-]*:bedrock-agentcore:[a-z0-9-]+:\d{12}:runtime\/[A-Za-z0-9_-]+$/, "the ARN of a runtime"),
      qualifier: z.string().min(1).max(48).default("DEFAULT").describe("The runtime's endpoint."),
      endpoint: httpUrl().optional().describe("Replaces the region's own address."),
      stopAfterResult: z.boolean().default(false).describe("A session per task, stopped when the task is over."),
      idempotent: anyDestination.idempotent.default(true),
    })
    .describe("InvokeAgentRuntime of Bedrock AgentCore."),
]);
export type Destination = z.infer<typeof destinationSchema>;
