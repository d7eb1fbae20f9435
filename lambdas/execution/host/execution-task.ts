/** The record of one task in the Execution zone's store: all that any instance needs to start it, answer for it or give it up. */
import * as z from "zod";
import { requestIdSchema } from "../../../contracts/envelope.ts";
import { artifactSchema, executeTaskParamsSchema, progressSchema } from "../../../contracts/methods.ts";
import { taskStateSchema } from "../../../contracts/task.ts";

/** The Slack token of the params is handed to the agent and kept nowhere. */
const storedParamsSchema = executeTaskParamsSchema.transform(({ bot_token: _secret, ...params }) => params);

const failureReasonSchema = z.enum([
  "execution_failed",
  "plan_error",
  "budget_exceeded",
  "timeout",
  "payload_too_large",
]);

/** How a task ended by itself. `lost`: its host went away, and nobody knows how far the agent came. */
const outcomeSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("success"),
    text: z.string(),
    artifacts: z.array(artifactSchema).optional(),
    usage: z.looseObject({}).optional(),
  }),
  z.object({ type: z.literal("failure"), reason: failureReasonSchema, lost: z.literal(true).optional() }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;

/** Times in milliseconds since the epoch. */
const executionTaskSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: taskStateSchema,
  principal: z.string(),
  expiresAtMs: z.number(),
  requestId: requestIdSchema,
  correlationId: z.string(),
  /** Of the content that a repeated request must share. */
  fingerprint: z.string(),
  trace: z.object({ traceparent: z.string(), tracestate: z.string().optional() }),
  createdAtMs: z.number(),
  /** When a read last sent its id to the queue of tasks; absent where only its own request did, and without a queue. */
  queuedAtMs: z.number().optional(),
  deadlineAtMs: z.number(),
  /** Whether its end is to be pushed. */
  callback: z.literal(true).optional(),
  /** Gone when the task is over, like the text in them. */
  params: storedParamsSchema.optional(),
  /** Who runs the agent, and until when nobody may doubt it. */
  lease: z.object({ owner: z.string(), untilMs: z.number() }).optional(),
  progress: progressSchema.optional(),
  /** Present in the states completed, failed and rejected. */
  outcome: outcomeSchema.optional(),
});
export type ExecutionTask = z.infer<typeof executionTaskSchema>;

/** Throws where the stored JSON is none of ours. */
export function parseExecutionTask(json: unknown): ExecutionTask {
  return executionTaskSchema.parse(json);
}
