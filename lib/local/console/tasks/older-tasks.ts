/** A page of the tasks of one state, beyond those of the live list. */
import { taskSchema } from "../../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "../../../cli/tasks/stored-task.ts";
import { type ActionResult, refuseAction } from "../action-result.ts";
import { toTaskRow } from "./task-row.ts";

const pageSize = 100;
const states: readonly string[] = taskSchema.shape.state.options;

/** `state` and, for the pages after the first one, `cursor`. Newest first. */
export async function listOlderTasks({
  place,
  query,
  nowMs,
}: {
  place: Pick<TaskPlace, "store" | "newestIds">;
  query: URLSearchParams;
  nowMs: number;
}): Promise<ActionResult> {
  const state = query.get("state") ?? "";
  if (!states.includes(state)) return refuseAction(400, `A state is needed: ${states.join(", ")}.`);
  try {
    const { ids, cursor } = await place.newestIds({ state, cursor: query.get("cursor") ?? undefined, limit: pageSize });
    const stored = await Promise.all(ids.map((id) => place.store.get({ id })));
    const tasks = stored.flatMap((item) => (item?.task === undefined ? [] : [item.task]));
    return { done: { rows: tasks.map((task) => toTaskRow({ task, nowMs })), cursor } };
  } catch (thrown) {
    if (thrown instanceof RangeError) return refuseAction(400, "That is no place in the list.");
    throw thrown;
  }
}
