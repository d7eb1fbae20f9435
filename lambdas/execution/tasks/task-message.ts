/** The messages of the queues of tasks and notices: ids, and nothing else of a task. What it is about stays in its record. */
import * as z from "zod";
import { taskStateSchema } from "../../../contracts/methods.ts";
import { digest } from "./execution-task.ts";

const runSchema = z.object({ taskId: z.string().min(1) });

/** That a task entered a state at a moment, which one of its push configurations is to be told of. `attempt` counts from 0. */
const pushNoticeSchema = z.object({
  taskId: z.string().min(1),
  configId: z.string().min(1),
  state: taskStateSchema,
  changedAtMs: z.number(),
  attempt: z.int().min(0),
});
export type PushNotice = z.infer<typeof pushNoticeSchema>;

/** That something may be due to a task that entered a state at a moment, on behalf of a registration of a configuration. */
const lookSchema = z.object({
  taskId: z.string().min(1),
  configId: z.string().min(1),
  registrationId: z.string().optional(),
  state: taskStateSchema,
  changedAtMs: z.number(),
});
export type TaskLook = z.infer<typeof lookSchema>;

/** A task to be run, news of one, or a look at one. The latter lie deeper, so that whoever knows none never takes them for a task. */
const taskMessageSchema = z.union([runSchema, z.object({ push: pushNoticeSchema }), z.object({ look: lookSchema })]);
export type ExecutionMessage = z.infer<typeof taskMessageSchema>;

export function encodeExecutionMessage(message: ExecutionMessage): string {
  return JSON.stringify(message);
}

/**
 * The tenant of a task's messages: its caller. A queue that can be fair gives whoever has few tasks at work the next free place,
 * however many somebody else has waiting. A digest, since principals may hold characters that no queue takes.
 */
export function deriveCallerGroup({ principal }: { principal: string }): string {
  return digest(["caller", principal]);
}

/** Throws where it is none. */
export function parseExecutionMessage(body: string): ExecutionMessage {
  return taskMessageSchema.parse(JSON.parse(body));
}
