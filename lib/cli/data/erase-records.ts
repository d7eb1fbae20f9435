/** Erases the records of a person in the Verification zone's store, one by one, by compare-and-set. */
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { conflict, retryOnConflict } from "../../../lambdas/shared/engine/records.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { isAnsweredBy, isUnderWay, type PersonRecords } from "./find-person.ts";
import type { Person, StoredRecord } from "./person.ts";
import { createTombstone } from "./tombstone.ts";

const nobody = "";

/** The decision for a record. `later` means that its zone still writes the record. */
type Decision = { replaceBy: Task } | "remove" | "leave" | "later";

type Erasure = {
  store: ErasableStore<StoredRecord>;
  person: Person;
  found: PersonRecords;
  nowMs: number;
  signal: AbortSignal;
};

/**
 * Erases tasks last, because a repeated command finds the other records through them. Throws if a task of the person runs again.
 * Resolves to the ids of open tasks of others that need an answer of the person.
 */
export async function eraseRecords(request: Erasure): Promise<string[]> {
  const { store, person, nowMs, signal } = request;
  const { tasks, answered, history, quota } = request.found;
  async function change(id: string, decide: (record: StoredRecord) => Decision): Promise<Decision> {
    signal.throwIfAborted();
    return retryOnConflict<Decision>({
      async attempt() {
        const record = await store.get({ id });
        const decision = record === undefined ? "leave" : decide(record);
        if (record === undefined || decision === "leave" || decision === "later") return decision;
        const isDone =
          decision === "remove"
            ? await store.remove(record)
            : (await store.replace({ item: { ...decision.replaceBy } })) !== undefined;
        return isDone ? decision : conflict;
      },
      exhausted: () =>
        new Error(`The zone keeps changing the record ${id}. Run the command again.`),
    });
  }

  const left: string[] = [];
  for (const { id } of answered) {
    const decision = await change(id, (record) =>
      eraseAnswerer({ task: taskSchema.parse(record), person, nowMs }),
    );
    if (decision === "later") left.push(id);
  }
  for (const { id } of [...(quota === undefined ? [] : [quota]), ...history])
    await change(id, () => "remove");
  for (const { id } of tasks)
    await change(id, (record) => eraseTask({ task: taskSchema.parse(record), nowMs }));
  return left;
}

function eraseTask({ task, nowMs }: { task: Task; nowMs: number }): Decision {
  // An operator may have redriven it in the meantime.
  if (isUnderWay({ task, nowMs }))
    throw new Error(`Task ${task.id} runs again. Run the command again when it has ended.`);
  const replaceBy = createTombstone({ task, nowMs });
  return replaceBy === undefined ? "remove" : { replaceBy };
}

/** Erases who answered a question of another person's task. The question and the chosen option stay. */
function eraseAnswerer({
  task,
  person,
  nowMs,
}: {
  task: Task;
  person: Person;
  nowMs: number;
}): Decision {
  const { question } = task;
  if (question?.answer === undefined || !isAnsweredBy({ task, person })) return "leave";
  if (isUnderWay({ task, nowMs })) return "later";
  return {
    replaceBy: { ...task, question: { ...question, answer: { ...question.answer, user: nobody } } },
  };
}
