/** The tasks of several states as one listing, oldest first. */
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { StoredTask } from "./stored-task.ts";

/**
 * Merges listings that are each in order of age; reads of each no further than it is asked for. A task that changes its
 * state meanwhile comes once; what is no task, or cannot be read, does not come.
 */
export async function* mergeOldestFirst(listings: AsyncGenerator<StoredTask, void, undefined>[]): AsyncGenerator<Task> {
  const seen = new Set<string>();
  const heads = await Promise.all(listings.map(nextTask));
  for (;;) {
    const [first] = heads.flatMap((task, at) => (task === undefined ? [] : [{ task, at }])).sort(byReceipt);
    if (first === undefined) return;
    const { task, at } = first;
    if (!seen.has(task.id)) yield task;
    seen.add(task.id);
    const listing = listings[at];
    heads[at] = listing === undefined ? undefined : await nextTask(listing);
  }
}

function byReceipt(a: { task: Task }, b: { task: Task }): number {
  return a.task.receivedAtMs - b.task.receivedAtMs;
}

async function nextTask(listing: AsyncGenerator<StoredTask, void, undefined>): Promise<Task | undefined> {
  for (;;) {
    const { value, done } = await listing.next();
    if (done || value.task !== undefined) return value?.task;
  }
}
