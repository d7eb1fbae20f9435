/** The messages of the Execution zone's task queue. They hold only ids; a task's content stays in its record. */

import { taskStateSchema } from "@sekisho/contracts/methods.ts";
import type { LogFields } from "@sekisho/runtime/log.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { digest, toLoggableId } from "./execution-task.ts";

const runSchema = z.object({ taskId: z.string().min(1) });

/**
 * Asks a worker to notify a push configuration that its task entered a state. `attempt` counts from 0. `waits` counts how often the notice
 * was put back because its receiver or caller had too many deliveries under way.
 */
const pushNoticeSchema = z.object({
  taskId: z.string().min(1),
  configId: z.string().min(1),
  state: taskStateSchema,
  changedAtMs: z.number(),
  attempt: z.int().min(0),
  waits: z.int().min(0).optional(),
});
export type PushNotice = z.infer<typeof pushNoticeSchema>;

/** A look asks a worker to check a task, because a push configuration waits for its next state. */
const lookSchema = z.object({
  taskId: z.string().min(1),
  configId: z.string().min(1),
  registrationId: z.string().optional(),
  state: taskStateSchema,
  changedAtMs: z.number(),
});
export type TaskLook = z.infer<typeof lookSchema>;

/** Asks a worker to pass the vote of a person to the agent. The vote is in the task's record. */
const voteSchema = z.object({ taskId: z.string().min(1), voterId: z.string().min(1) });

/** A task to run, a push notice, a look at a task, or a vote. All but the first are nested, so that no reader takes them for a task to run. */
const taskMessageSchema = z.union([
  runSchema,
  z.object({ push: pushNoticeSchema }),
  z.object({ look: lookSchema }),
  z.object({ vote: voteSchema }),
]);
export type ExecutionMessage = z.infer<typeof taskMessageSchema>;

export function encodeExecutionMessage(message: ExecutionMessage): string {
  return JSON.stringify(message);
}

/**
 * The queue group of a task's messages identifies its caller, so that a fair queue lets no caller delay the others. It is a digest,
 * because a principal may contain characters that a queue refuses.
 */
export function deriveCallerGroup({ principal }: { principal: string }): string {
  return digest(["caller", principal]);
}

/** Throws if the body is not such a message. */
export function parseExecutionMessage(body: string): ExecutionMessage {
  return taskMessageSchema.parse(JSON.parse(body));
}

/** Finds the task id of a message, for the log line when its handling fails. Leaves out an id that is not a UUID. */
export function readExecutionIds(body: string): LogFields {
  const message = Object(parseJson(body)) as Record<string, unknown>;
  const target = message.push ?? message.look ?? message.vote ?? message;
  const { taskId } = Object(target) as { taskId?: unknown };
  return { task_id: toLoggableId(taskId) };
}

const knownMembers = ["taskId", "push", "look", "vote"];

/** True if the body is a JSON object without any member by which this version knows a message. A newer version may have sent it. */
export function isNewerMessage(body: string): boolean {
  const json = parseJson(body);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return false;
  return !knownMembers.some((name) => name in json);
}
