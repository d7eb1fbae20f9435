/** The completion push: the message that the Execution zone puts into the completion queue when there is news of an accepted task. */
import * as z from "zod";
import { uuidPattern } from "./envelope.ts";
import { maxTaskIdLength } from "./limits.ts";

/** Says only which task has changed. The reader just calls `get_task` earlier, so a forged message can do no harm. */
export const completionSchema = z.object({
  request_id: z.string().regex(uuidPattern),
  task_id: z.string().min(1).max(maxTaskIdLength),
});

export type Completion = z.infer<typeof completionSchema>;
