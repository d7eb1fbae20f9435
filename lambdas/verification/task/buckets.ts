/** Says which records of the zone are listed together: the buckets of its table on AWS. Stored keys begin with these names. */
import { taskSchema } from "./task.ts";

/** The states of tasks that are not over. Tasks change between them often, but few tasks are open at a time. */
export const openStates = taskSchema.shape.state.options.filter((state) => state !== "done");
const openNames: ReadonlySet<string> = new Set(openStates);

/** All open tasks share one bucket, so that a change of state does not move them. */
export const openBucket = "open";

/**
 * Undefined for records that nobody lists by state. Finished tasks have a bucket of their own, and so has each day of the usage
 * history of version 1.0.0.
 */
export function toStateBucket(state: string): string | undefined {
  if (openNames.has(state)) return openBucket;
  return state === "done" || state.startsWith("history/") ? state : undefined;
}
