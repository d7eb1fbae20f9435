/** The section `execution`: the agent and its host. */
import * as z from "zod";
import { dialectSchema } from "../../../contracts/dialects.ts";
import { a2aSchema } from "./a2a-schema.ts";
import { authenticatorSchema } from "./authenticator-schema.ts";
import { configFileName, parseWith } from "./config-error.ts";
import { telemetrySchema } from "./telemetry-schema.ts";
import { httpUrl, integer, oneOf, regionSchema, secretSchema } from "./values.ts";

const agentFile = /^\.{0,2}\/.+\.(ts|mts|js|mjs)$/;
const agentSchema = z.union(
  [
    z.literal("echo"),
    z
      .string()
      .regex(agentFile, {
        error: ({ input }) =>
          agentFile.test(`./${input}`)
            ? `the ./ is missing: "./${input}"`
            : '"echo", or the path of your agent file such as ./agent.ts',
      })
      .describe("A file of your own that exports `agent`."),
    z.discriminatedUnion(
      "type",
      [
        z
          .strictObject({
            type: z.literal("openai-compatible"),
            baseUrl: httpUrl().describe("The URL up to and including /v1."),
            model: z.string().min(1),
            apiKey: secretSchema.optional(),
            system: z.string().optional().describe("The system prompt."),
          })
          .describe("Any endpoint that speaks chat completions with streaming."),
        z
          .strictObject({
            type: z.literal("bedrock"),
            modelId: z.string().min(1).max(2048).describe("A model's or an inference profile's id or ARN."),
            region: regionSchema.optional().describe("Default: where the Execution zone runs."),
            system: z.string().optional().describe("The system prompt."),
            maxTokens: integer(1).optional(),
            guardrail: z
              .strictObject({
                id: z.string().min(1),
                version: z.string().regex(/^(DRAFT|\d{1,8})$/, "DRAFT or a number"),
              })
              .optional(),
          })
          .describe("A model of Amazon Bedrock, by ConverseStream."),
      ],
      oneOf("openai-compatible", "bedrock"),
    ),
  ],
  '"echo", the path of your agent file such as ./agent.ts, or an object with a type',
);

/** The paths that the host always serves. A path below `/.well-known` cannot be configured either. */
const servedPaths = ["/", "/a2a", "/invocations", "/ping", "/healthz", "/openrpc.json", "/metrics"];

const pathSchema = z
  .string()
  .max(256)
  .regex(
    /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$|^\/$/,
    'a path such as "/vapora": letters, digits and . _ ~ - after each slash, none at the end',
  )
  .refine((path) => !servedPaths.includes(path), "the host serves this path already; choose another");

/** Further paths, each with its own error dialect. */
const dialectPathsSchema = z.record(pathSchema, dialectSchema);

export const executionSchema = z
  .strictObject({
    agent: agentSchema.default("echo"),
    authenticator: authenticatorSchema.default({ type: "none" }),
    syncBudgetMs: integer(0, 60_000)
      .default(20_000)
      .describe("How long a call waits for the result itself; less than 0.9 times limits.callTimeoutMs."),
    maxTaskMs: integer(1000, 8 * 3600_000)
      .optional()
      .describe(
        "The longest that a task may take. Default: 8 hours; on AgentCore two minutes less than a session lives; on Lambda 14 minutes. More is refused on either.",
      ),
    leaseMs: integer(500)
      .default(20_000)
      .describe("How long a process holds a task that it runs. It renews the lease at half of that time."),
    lostAfterMs: integer(0)
      .default(30_000)
      .describe("How long after its lease has expired a running task counts as lost."),
    limits: z
      .strictObject({
        runsPerCaller: integer(1, 100_000)
          .default(1000)
          .describe("Agents that run for one caller in one process. A further run is refused with rate_limited."),
        openCallsPerCaller: integer(1, 100_000)
          .default(1000)
          .describe(
            "Streams of one caller in one process, and calls that wait for a change. A further stream is refused with rate_limited, a further call is answered without waiting.",
          ),
      })
      .prefault({})
      .describe("What one caller may have at once. The Verification zone is one caller, however many people ask it."),
    a2a: a2aSchema.prefault({}).describe("The host as an A2A agent."),
    dialects: dialectPathsSchema
      .default({})
      .describe("Further paths that take requests, each with the dialect of its errors."),
  })
  .refine(({ authenticator, a2a }) => authenticator.type !== "none" || a2a.extendedSkills === undefined, {
    path: ["a2a", "extendedSkills"],
    message: 'anyone could read them: the authenticator is "none"; name another authenticator',
  })
  .refine(({ leaseMs, lostAfterMs }) => leaseMs + lostAfterMs <= 300_000, "leaseMs + lostAfterMs: at most 5 minutes");

export type AgentConfig = z.infer<typeof agentSchema>;

/** What the bundles of the Execution zone hold of a configuration. */
const sectionsSchema = z.object({
  execution: executionSchema.prefault({}),
  telemetry: telemetrySchema.prefault({}),
});
export type ExecutionSections = z.infer<typeof sectionsSchema>;

/**
 * Parses the sections that a deploy bundled. It checked them together with all others, whose schemas would only lengthen the cold start.
 * Throws a ConfigError.
 */
export function parseExecutionSections(json: unknown): ExecutionSections {
  return parseWith({ schema: sectionsSchema, json, name: configFileName });
}
