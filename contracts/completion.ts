/** The completion push: the message that the Execution zone puts into the completion queue when there is news of an accepted task. */
import * as z from "zod";
import { uuidPattern } from "./envelope.ts";
import { maxTaskIdLength } from "./limits.ts";

/** Carries no news itself. Its reader only calls `get_task` earlier, so a forged one can do nothing else. */
export const completionSchema = z.object({
  request_id: z.string().regex(uuidPattern),
  task_id: z.string().min(1).max(maxTaskIdLength),
});

export type Completion = z.infer<typeof completionSchema>;
