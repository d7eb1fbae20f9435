/** Erases what was found of a person in the Verification zone's store, record by record, by compare-and-set. */

import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { conflict, retryOnConflict } from "../../../lambdas/shared/engine/records.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { isAnsweredBy, isUnderWay, type PersonRecords } from "./find-person.ts";
import type { Person, StoredRecord } from "./person.ts";
import { createTombstone } from "./tombstone.ts";

/** Stands where a person's id stood. */
const nobody = "";

type Store = ErasableStore<StoredRecord>;

/** By id: tasks of others that are under way with an answer of the person. Their zone writes them, and needs the answer. */
export type LeftTasks = string[];

/**
 * Tasks last: from them, and from the history, a repetition of a command that was cut off finds what is left. Throws where a
 * task of the person has begun to move again.
 */
export async function eraseRecords({
  store,
  person,
  found: { tasks, answered, history, quota },
  nowMs,
  signal,
}: {
  store: Store;
  person: Person;
  found: PersonRecords;
  nowMs: number;
  signal: AbortSignal;
}): Promise<LeftTasks> {
  const left: LeftTasks = [];
  for (const { id } of answered) {
    signal.throwIfAborted();
    const decision = await change({ store, id, decide: (task) => withoutAnswerer({ task, person, nowMs }) });
    if (decision === "later") left.push(id);
  }
  for (const { id } of [...(quota === undefined ? [] : [quota]), ...history]) {
    signal.throwIfAborted();
    await removeRecord({ store, id });
  }
  for (const { id } of tasks) {
    signal.throwIfAborted();
    await change({ store, id, decide: (task) => erased({ task, nowMs }) });
  }
  return left;
}

type Decision = { replaceBy: Task } | "remove" | "leave" | "later";

function erased({ task, nowMs }: { task: Task; nowMs: number }): Decision {
  // Somebody has redriven it meanwhile.
  if (isUnderWay({ task, nowMs })) throw new Error(`${task.id} is under way again. Run the command once more.`);
  const replaceBy = createTombstone({ task, nowMs });
  return replaceBy === undefined ? "remove" : { replaceBy };
}

/** The question of somebody else's task stays, and what was chosen. */
function withoutAnswerer({ task, person, nowMs }: { task: Task; person: Person; nowMs: number }): Decision {
  const { question } = task;
  if (question?.answer === undefined || !isAnsweredBy({ task, person })) return "leave";
  if (isUnderWay({ task, nowMs })) return "later";
  return { replaceBy: { ...task, question: { ...question, answer: { ...question.answer, user: nobody } } } };
}

async function change({
  store,
  id,
  decide,
}: {
  store: Store;
  id: string;
  decide: (task: Task) => Decision;
}): Promise<Decision> {
  return retryOnConflict<Decision>({
    async attempt() {
      const record = await store.get({ id });
      if (record === undefined) return "leave";
      const decision = decide(taskSchema.parse(record));
      if (decision === "leave" || decision === "later") return decision;
      const isDone =
        decision === "remove"
          ? await store.remove({ id, revision: record.revision })
          : (await store.replace({ item: { ...decision.replaceBy } })) !== undefined;
      return isDone ? decision : conflict;
    },
    exhausted: () => changing(id),
  });
}

async function removeRecord({ store, id }: { store: Store; id: string }): Promise<void> {
  await retryOnConflict({
    async attempt() {
      const record = await store.get({ id });
      const isGone = record === undefined || (await store.remove({ id, revision: record.revision }));
      return isGone || conflict;
    },
    exhausted: () => changing(id),
  });
}

function changing(id: string): Error {
  return new Error(`${id} is written again and again. Run the command once more.`);
}
