/** The section `execution`: the agent and its host. */

import { dialectSchema } from "@sekisho/contracts/dialects.ts";
import * as z from "zod";
import { a2aSchema } from "./a2a-schema.ts";
import { agentSchema } from "./agent-schema.ts";
import { executionAskerSchema } from "./asker-schema.ts";
import { authenticatorSchema } from "./authenticator-schema.ts";
import { configFileName, parseWith } from "./config-error.ts";
import { telemetrySchema } from "./telemetry-schema.ts";
import { integer, nameSchema } from "./values.ts";

/** The paths that the host always serves. The form of `pathSchema` also excludes paths below `/.well-known`. */
const servedPaths = ["/", "/a2a", "/invocations", "/ping", "/healthz", "/openrpc.json", "/metrics"];

const pathSchema = z
  .string()
  .max(256)
  .regex(
    /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$|^\/$/,
    'must be a path such as "/vapora": letters, digits and . _ ~ - after each slash, and no slash at the end',
  )
  .refine(
    (path) => !servedPaths.includes(path),
    "is a path that the host already serves; choose another",
  );

/** Further paths, each with its own error dialect. */
const dialectPathsSchema = z.record(pathSchema, dialectSchema);

export const executionSchema = z
  .strictObject({
    agent: agentSchema
      .optional()
      .describe(
        "The agent that runs tasks. echo repeats the message. Default: the first of agents, or echo.",
      ),
    agents: z
      .record(nameSchema, agentSchema)
      .default({})
      .describe(
        "Agents by name. Each is also a destination of its name. A2A clients get execution.agent.",
      ),
    authenticator: authenticatorSchema
      .default({ type: "none" })
      .describe("How the host authenticates its callers."),
    asker: executionAskerSchema.optional(),
    syncBudgetMs: integer(0, 60_000)
      .optional()
      .describe(
        "How long a call waits for the result before it answers `accepted`. Less than 0.9 times limits.callTimeoutMs. On one machine and in a container at most until 0.3 s after the first words. Default: 1500; 20000 on one machine.",
      ),
    maxTaskMs: integer(1000, 8 * 3600_000)
      .optional()
      .describe(
        "The longest time for a task. Default: 8 hours; on AgentCore 2 minutes less than a session's lifetime; on Lambda 14 minutes.",
      ),
    leaseMs: integer(500)
      .default(20_000)
      .describe("How long a lease on a running task lasts. Renewed at half of it."),
    lostAfterMs: integer(0)
      .default(30_000)
      .describe("When a task counts as lost, after the end of its lease."),
    limits: z
      .strictObject({
        runsPerCaller: integer(1, 100_000)
          .default(1000)
          .describe(
            "The most concurrent runs of a caller in one process. More are `rate_limited`.",
          ),
        openCallsPerCaller: integer(1, 100_000)
          .default(1000)
          .describe(
            "The most open calls of a caller in one process. More streams are `rate_limited`; more long polls are answered at once.",
          ),
      })
      .prefault({})
      .describe("The limits for each caller. The Verification zone is one caller."),
    a2a: a2aSchema.prefault({}).describe("Serves the Execution host as an A2A agent."),
    dialects: dialectPathsSchema
      .default({})
      .describe("More paths that take requests, each with its dialect of error codes."),
  })
  .refine(
    ({ authenticator, a2a }) => authenticator.type !== "none" || a2a.extendedSkills === undefined,
    {
      path: ["a2a", "extendedSkills"],
      message:
        'could be read by anyone, because execution.authenticator is "none"; choose another authenticator',
    },
  )
  .refine(({ leaseMs, lostAfterMs }) => leaseMs + lostAfterMs <= 300_000, {
    path: ["lostAfterMs"],
    message: "plus execution.leaseMs must be at most 300000 (5 minutes); lower one of them",
  })
  .transform(({ agent, ...section }) => ({
    ...section,
    agent: agent ?? Object.values(section.agents)[0] ?? ("echo" as const),
  }));

/** The two sections of a configuration that the bundles of the Execution zone contain. */
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
