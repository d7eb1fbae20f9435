/** The task that a person means, by its request id or by the beginning of it. */

import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "./stored-task.ts";
import { isErased } from "./stored-task.ts";

/** There is none, or the beginning of an id fits several. The message says so to a person. */
export class NoSuchTask extends Error {
  override name = "NoSuchTask";
}

const states = taskSchema.shape.state.options;
const shownOfSeveral = 5;

/** The one request id that stands behind a command's name. */
export function readTaskId(positionals: string[]): string {
  const [id, ...more] = positionals;
  if (id === undefined || more.length > 0) throw new UsageError("One request id is needed, or the beginning of one.");
  const given = id.toLowerCase();
  if (uuidPattern.test(given) || /^[0-9a-f-]{4,36}$/.test(given)) return given;
  throw new UsageError(`"${id}" is no request id: a UUID, or at least the first four characters of one.`);
}

/** Throws where there is none, or where the beginning fits several. */
export async function findTask({
  place,
  id,
  note,
}: {
  place: TaskPlace;
  id: string;
  note: CommandRun["note"];
}): Promise<Task> {
  const stored = await place.store.get({
    id: uuidPattern.test(id) ? id : await onlyIdLike({ place, prefix: id, note }),
  });
  if (stored === undefined) throw new NoSuchTask(`There is no task ${id} ${place.where}, or its record has expired.`);
  if (isErased(stored)) throw new NoSuchTask(`The data of task ${stored.id} ${place.where} was deleted.`);
  if (stored.task === undefined)
    throw new NoSuchTask(`The record of ${id} ${place.where} is of another version of Sekisho.`);
  return stored.task;
}

async function onlyIdLike({
  place,
  prefix,
  note,
}: {
  place: TaskPlace;
  prefix: string;
  note: CommandRun["note"];
}): Promise<string> {
  if (place.costOfSearch !== undefined) note(place.costOfSearch);
  const found = new Set<string>();
  // One after the other, in the order in which tasks go through them: one that moves meanwhile is not missed.
  for (const state of states) for (const id of await place.idsLike({ state, prefix })) found.add(id);
  const ids = [...found].filter((id) => uuidPattern.test(id)).sort();
  const [only] = ids;
  if (only === undefined) throw new NoSuchTask(`No request id ${place.where} begins with ${prefix}.`);
  if (ids.length === 1) return only;
  const rest = ids.length > shownOfSeveral ? ["…"] : [];
  throw new NoSuchTask(
    `Several request ids begin with ${prefix}:\n${[...ids.slice(0, shownOfSeveral), ...rest].join("\n")}`,
  );
}
