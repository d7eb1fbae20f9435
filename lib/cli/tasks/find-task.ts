/** Finds the task that a person names by its request id or by the beginning of it. */

import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { type CommandRun, UsageError } from "../command.ts";
import { isErased, type TaskZone } from "./stored-task.ts";

/** There is no such task, or several fit. The message is for a person. */
export class NoSuchTask extends Error {
  override name = "NoSuchTask";
}

const shownOfSeveral = 5;

/** The request id among the arguments of a command. */
export function readTaskId(positionals: string[]): string {
  const [id, ...more] = positionals;
  if (id === undefined || more.length > 0)
    throw new UsageError("Give one request id, or its first four characters or more.");
  const idText = id.toLowerCase();
  if (uuidPattern.test(idText) || /^[0-9a-f-]{4,36}$/.test(idText)) return idText;
  throw new UsageError(
    `"${id}" is not a request id. Give a UUID, or at least its first four characters.`,
  );
}

type Wanted = { zone: TaskZone; id: string; note: CommandRun["note"] };

/** Throws NoSuchTask where there is no task, or several fit. */
export async function findTask({ zone, id, note }: Wanted): Promise<Task> {
  const { where, store } = zone;
  const storedItem = await store.get({
    id: uuidPattern.test(id) ? id : await completeId({ zone, id, note }),
  });
  if (storedItem === undefined)
    throw new NoSuchTask(`There is no task ${id} ${where}, or its record has expired.`);
  if (isErased(storedItem))
    throw new NoSuchTask(`The data of task ${storedItem.id} ${where} was deleted.`);
  if (storedItem.task === undefined)
    throw new NoSuchTask(
      `Another version of Sekisho wrote the record of ${id} ${where}. Run the command with that version.`,
    );
  return storedItem.task;
}

async function completeId({ zone, id, note }: Wanted): Promise<string> {
  if (zone.costOfSearch !== undefined) note(zone.costOfSearch);
  const foundIds = new Set(await zone.findIdsByPrefix(id));
  const ids = [...foundIds].filter((each) => uuidPattern.test(each)).sort();
  const [only] = ids;
  if (only === undefined) throw new NoSuchTask(`No request id ${zone.where} begins with ${id}.`);
  if (ids.length === 1) return only;
  const shownIds = [...ids.slice(0, shownOfSeveral), ...(ids.length > shownOfSeveral ? ["…"] : [])];
  throw new NoSuchTask(`Several request ids begin with ${id}:\n${shownIds.join("\n")}`);
}
