/** The destinations of the configuration: where tasks can be sent, and over which transport. */

import { dialectSchema } from "@sekisho/contracts/dialects.ts";
import { omittableFieldSchema } from "@sekisho/contracts/methods.ts";
import * as z from "zod";
import { destinationAskerSchema, withBearerAsker } from "./asker-schema.ts";
import { authorizerSchema } from "./authorizer-schema.ts";
import { slackIdSchema, teamSchema } from "./slack-schema.ts";
import {
  httpUrl,
  idleSecondsSchema,
  integer,
  nameSchema,
  qualifierSchema,
  runtimeArnSchema,
} from "./values.ts";

const anyDestination = {
  deadlineMs: integer(1000, 8 * 3600_000)
    .default(4 * 3600_000)
    .describe(
      "The longest time for a task, from its turn in the thread. An AgentCore session accepts only tasks that fit into its remaining life.",
    ),
  callTimeoutMs: integer(100, 600_000)
    .optional()
    .describe(
      "The time limit for a call that sends a task or a reply. Raise it for an agent that answers only when it is done. At most deadlineMs, in a stage by default 405000. Default: limits.callTimeoutMs.",
    ),
  concurrency: z
    .enum(["thread", "parallel"])
    .default("thread")
    .describe("The tasks of one thread run one at a time, in order, or all at once."),
  longPollMs: z
    .union(
      [z.literal("auto"), integer(0, 25_000)],
      'must be "auto" or a whole number from 0 to 25000',
    )
    .default("auto")
    .describe(
      "How long a poll waits for a change; both sides may be billed. auto: 10000 at the host on the same machine (at most half of the time for a call), else 0. Over A2A it needs capabilities.streaming.",
    ),
  sendsAtOnce: integer(1, 1000)
    .optional()
    .describe(
      "How many tasks one process sends here at once, and a quarter as many polls, within the destination's share of the slots. Default: limits.sendsPerDestination.",
    ),
  dialect: dialectSchema.default("zone").describe("The dialect of the peer's error codes."),
  idempotent: z
    .boolean()
    .describe(
      "The peer deduplicates by request id, also after a restart. If false, a send with an unknown outcome is not repeated.",
    ),
  omitFields: z
    .array(omittableFieldSchema)
    .default([])
    .describe("Fields of execute_task that this destination does not get."),
  forwardBotToken: z
    .boolean()
    .default(false)
    .describe("Sends the bot token with each task, for agents that need it."),
  maxResponseBytes: integer(1024)
    .default(1024 * 1024)
    .describe("The largest response that is read."),
  questions: z
    .strictObject({
      answerBy: z
        .union(
          [
            z.enum(["asker", "anyone"]),
            z.strictObject({
              team: teamSchema,
              group: slackIdSchema.describe("The id of the user group (S…)."),
            }),
          ],
          'must be "asker", "anyone" or { "group": "S…" }, with "team": "T…" if there is slack.install',
        )
        .default("asker")
        .describe(
          "Who may answer: the person who asked, anyone who may use the bot there, or a user group.",
        ),
      expireAfterMs: integer(1000, 24 * 3600_000)
        .default(8 * 3600_000)
        .describe("How long a question stays open."),
    })
    .prefault({})
    .describe("Questions and approval requests of the agent."),
  asker: destinationAskerSchema.optional(),
};

/** For transports of the zone contract. */
const hostAgent = {
  agent: nameSchema
    .optional()
    .describe(
      "The agent there, by its name in execution.agents. Default: its main agent, execution.agent.",
    ),
};

const a2aVersionSchema = z.enum(["highest", "1.0", "0.3"]);

/** For transports that carry either protocol. A default would change the fingerprints of destinations that are deployed already. */
const eitherProtocol = {
  protocol: z
    .enum(["sekisho", "a2a"])
    .optional()
    .describe("What the peer speaks: Sekisho's contract, or A2A. Default: sekisho."),
  version: a2aVersionSchema
    .optional()
    .describe("With the protocol a2a: the version of A2A, as with the transport a2a."),
  dialect: dialectSchema
    .optional()
    .describe(
      "The dialect of the peer's error codes. Default: zone, and a2a with the protocol a2a.",
    ),
};

type OfEitherProtocol = {
  protocol?: "sekisho" | "a2a" | undefined;
  version?: z.infer<typeof a2aVersionSchema> | undefined;
  dialect?: z.infer<typeof dialectSchema> | undefined;
  agent?: string | undefined;
  forwardBotToken: boolean;
};

function checkProtocol(
  destination: OfEitherProtocol,
  context: { addIssue(issue: { code: "custom"; path: string[]; message: string }): void },
): void {
  const { protocol, version, agent, forwardBotToken } = destination;
  const refuse = (field: string, message: string) =>
    context.addIssue({ code: "custom", path: [field], message });
  if (protocol !== "a2a") {
    if (version !== undefined) refuse("version", "is for the protocol a2a only; remove it");
    return;
  }
  if (agent !== undefined) refuse("agent", "must not be set, because A2A cannot name an agent");
  if (forwardBotToken) refuse("forwardBotToken", noBotToken);
}

const noBotToken = "must be false, because A2A cannot carry the bot token";

function withProtocolDefaults<D extends OfEitherProtocol>(destination: D) {
  const { protocol, version = "highest" as const } = destination;
  const isA2a = protocol === "a2a";
  return {
    ...destination,
    dialect: destination.dialect ?? (isA2a ? ("a2a" as const) : ("zone" as const)),
    ...(isA2a && { version }),
  };
}

export const destinationSchema = z.discriminatedUnion("transport", [
  z
    .strictObject({
      transport: z.literal("in-process"),
      ...anyDestination,
      ...eitherProtocol,
      ...hostAgent,
      idempotent: anyDestination.idempotent.default(true),
    })
    .superRefine(checkProtocol)
    .transform(withProtocolDefaults)
    .describe("Calls the Execution host in the same process. For one machine only."),
  z
    .strictObject({
      transport: z.literal("https"),
      ...anyDestination,
      ...hostAgent,
      url: httpUrl()
        .optional()
        .describe("The URL of the peer. Default: the Execution zone of this configuration."),
      authorizer: authorizerSchema
        .default({ type: "none" })
        .describe("How calls prove who makes them."),
      idempotent: anyDestination.idempotent
        .optional()
        .describe(
          "The peer deduplicates by request id, also after a restart. If false, a send with an unknown outcome is not repeated. Default: true without url, false with url.",
        ),
    })
    .transform((destination) => ({
      ...withBearerAsker(destination),
      idempotent: destination.idempotent ?? destination.url === undefined,
    }))
    .describe("Sends JSON-RPC over HTTPS (http on loopback only)."),
  z
    .strictObject({
      transport: z.literal("a2a"),
      ...anyDestination,
      card: httpUrl()
        .optional()
        .describe(
          "The URL of the agent card. Default: the Execution host on the same machine, which a stage does not have.",
        ),
      url: httpUrl().optional().describe("The URL of the agent. Default: the one in its card."),
      version: a2aVersionSchema
        .default("highest")
        .describe("The version of A2A. highest: the highest that both sides support."),
      authorizer: authorizerSchema
        .default({ type: "none" })
        .describe("How calls prove who makes them."),
      dialect: dialectSchema.default("a2a").describe("The dialect of the peer's error codes."),
      idempotent: anyDestination.idempotent
        .optional()
        .describe(
          "The peer deduplicates by request id, also after a restart. If false, a send with an unknown outcome is not repeated. Default: true without card, false with card.",
        ),
      longPollMs: anyDestination.longPollMs.describe(
        "How long a poll waits for a change; both sides may be billed. auto: 10000 at the host on the same machine (at most half of the time for a call), else 0. Over A2A it needs capabilities.streaming.",
      ),
      forwardBotToken: z
        .literal(false, noBotToken)
        .default(false)
        .describe("A2A cannot carry the bot token."),
    })
    .refine(({ card, url }) => url === undefined || card !== undefined, {
      path: ["card"],
      message: "is missing; set it, because url only replaces the address in the card",
    })
    .transform((destination) => ({
      ...withBearerAsker(destination),
      idempotent: destination.idempotent ?? destination.card === undefined,
    }))
    .describe(
      "Calls an A2A agent over HTTPS (http on loopback only), with JSON-RPC or HTTP+JSON as its card offers.",
    ),
  z
    .strictObject({
      transport: z.literal("agentcore"),
      ...anyDestination,
      ...eitherProtocol,
      ...hostAgent,
      runtimeArn: runtimeArnSchema.describe("The ARN of the runtime."),
      qualifier: qualifierSchema.default("DEFAULT").describe("The name of the runtime's endpoint."),
      endpoint: httpUrl()
        .optional()
        .describe("The URL of the AgentCore API. Default: that of the runtime's region."),
      stopAfterResult: z
        .boolean()
        .default(false)
        .describe("One session per task, stopped after it, instead of a warm one per thread."),
      idleSeconds: idleSecondsSchema
        .default(900)
        .describe(
          "The runtime's `idleRuntimeSessionTimeout`, in which a running task is polled at least twice, unless the agent asks for less. A stage's own zone has that of the stage.",
        ),
      idempotent: anyDestination.idempotent
        .optional()
        .describe(
          "The peer deduplicates by request id, also after a restart. If false, a send with an unknown outcome is not repeated. Default: true, and false with the protocol a2a.",
        ),
    })
    .superRefine(checkProtocol)
    .transform((destination) => ({
      ...withProtocolDefaults(destination),
      idempotent: destination.idempotent ?? destination.protocol !== "a2a",
    }))
    .describe("Calls a Bedrock AgentCore runtime (InvokeAgentRuntime)."),
]);
export type Destination = z.infer<typeof destinationSchema>;
