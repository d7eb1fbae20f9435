/** Everything that is known of one task, for its own view: record, way, frames, and what can be done about it. */
import { uuidPattern } from "../../../../contracts/envelope.ts";
import type { Task } from "../../../../lambdas/verification/task/task.ts";
import { cancelRefusal } from "../../../cli/tasks/cancel-task.ts";
import { findTask } from "../../../cli/tasks/find-task.ts";
import { retryRefusal } from "../../../cli/tasks/retry-task.ts";
import type { TaskPlace } from "../../../cli/tasks/stored-task.ts";
import { toTaskView } from "../../../cli/tasks/task-view.ts";
import { type ActionResult, refuseAction } from "../action-result.ts";
import type { CreatePicture } from "../source.ts";
import { isUndelivered, toTaskRow } from "./task-row.ts";

const idPattern = /^[0-9a-f-]{4,36}$/;

/** The whole request id, or the beginning of one. */
export async function findTaskById({ place, id }: { place: TaskPlace; id: string }): Promise<Task | undefined> {
  if (uuidPattern.test(id)) return (await place.store.get({ id }))?.task;
  if (!idPattern.test(id)) return undefined;
  return findTask({ place, id, note: () => {} });
}

export async function readTaskDetail({
  place,
  pictureOf,
  id,
  now,
}: {
  place: TaskPlace;
  pictureOf: CreatePicture;
  id: string;
  now: () => number;
}): Promise<ActionResult> {
  const task = await findTaskById({ place, id });
  if (task === undefined)
    return refuseAction(404, `There is no task ${place.where} with that id, or its record has expired.`);
  const nowMs = now();
  return {
    done: {
      nowMs,
      row: toTaskRow({ task, nowMs }),
      task: toTaskView({ task, nowMs }),
      ...(await pictureOf({ task })),
      whyNot: { cancel: cancelRefusal(task), retry: retryRefusal(task), redrive: redriveRefusal(task) },
    },
  };
}

/** Undefined where its answer can be brought once more. */
export function redriveRefusal(task: Task): string | undefined {
  return isUndelivered(task) ? undefined : "has no answer that is missing in its thread.";
}
