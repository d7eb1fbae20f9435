/** On one machine the queue's dead letters fail their tasks at once: what is left to redrive are answers that Slack did not take. */
import type { Task } from "../../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "../../../cli/tasks/stored-task.ts";
import { describeOutcome } from "../../../cli/tasks/text.ts";
import { sendRedrive } from "../tasks/task-actions.ts";
import { isUndelivered } from "../tasks/task-row.ts";
import type { DeadLetters } from "./dead-letters.ts";

/** Of the tasks that are over, so many of the newest are looked at. */
const maxLooked = 1000;
const pageSize = 200;

export function createUndeliveredLetters({ place }: { place: TaskPlace }): DeadLetters {
  async function* undelivered(): AsyncGenerator<Task> {
    let cursor: string | undefined;
    for (let looked = 0; looked < maxLooked; looked += pageSize) {
      const page = await place.newestIds({ state: "done", cursor, limit: pageSize });
      for (const id of page.ids) {
        const task = (await place.store.get({ id }))?.task;
        if (task !== undefined && isUndelivered(task)) yield task;
      }
      cursor = page.cursor;
      if (cursor === undefined) return;
    }
  }

  return {
    about:
      "On one machine a dead letter fails its task at once and its user is told, so that none is kept. Listed are tasks whose answer Slack did not take; a redrive delivers it once more, and no agent runs again.",
    async list() {
      const rows = [];
      for await (const task of undelivered()) {
        rows.push({
          key: task.id,
          requestId: task.id,
          kind: "answer",
          keptAtMs: task.history.at(-1)?.atMs ?? task.receivedAtMs,
          task: task.state,
          reason: `Slack did not take its answer (${describeOutcome(task)})`,
        });
      }
      return rows;
    },
    async redrive(requestIds) {
      const redriven = [];
      for await (const task of undelivered()) {
        if (requestIds !== undefined && !requestIds.includes(task.id)) continue;
        await sendRedrive({ place, task });
        redriven.push({ requestId: task.id, task: task.state });
      }
      return redriven;
    },
  };
}
