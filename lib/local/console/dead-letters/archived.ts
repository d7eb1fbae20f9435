/** The dead letters that a stage keeps for 14 days. */
import { type ReadLetter, readLetter, withDeadLetters } from "../../../cli/aws/dead-letters/archive.ts";
import { createReadTaskState, createSend, redrive } from "../../../cli/aws/dead-letters/redrive.ts";
import { readStackOutputs } from "../../../cli/aws/stack-outputs.ts";
import type { NamedStage } from "../../../cli/aws/stage.ts";
import type { TaskPlace } from "../../../cli/tasks/stored-task.ts";
import { describeOutcome } from "../../../cli/tasks/text.ts";
import type { DeadLetterRow, DeadLetters, RedrivenLetter } from "./dead-letters.ts";

/** A listing hides the messages from everybody else for its time, so that one is made at a time. */
export function createArchivedLetters({
  named,
  place,
  signal,
}: {
  named: NamedStage;
  place: Pick<TaskPlace, "store">;
  signal: AbortSignal;
}): DeadLetters {
  const { region } = named.stage.verification;
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work);
    last = turn.catch(() => {});
    return turn;
  }

  return {
    about:
      "Messages that the stage's workers gave up on. Their users have been told. A redrive begins a task that was never begun; of one that has ended only the delivery is repeated: no agent runs twice.",
    list: () =>
      inTurn(async () => {
        const { deadLettersUrl: queueUrl } = await readStackOutputs({ ...named, signal });
        const rows: DeadLetterRow[] = [];
        await withDeadLetters({ queueUrl, region, signal }, async (letters) => {
          for (const letter of letters.map(readLetter)) rows.push(await rowOf({ letter, place }));
        });
        return rows.sort((a, b) => a.keptAtMs - b.keptAtMs);
      }),
    redrive: (requestIds) =>
      inTurn(async () => {
        const { deadLettersUrl, tableName, queueUrl } = await readStackOutputs({ ...named, signal });
        const redriven: RedrivenLetter[] = [];
        await withDeadLetters({ queueUrl: deadLettersUrl, region, signal }, async (letters, remove) => {
          const wanted = ({ message }: ReadLetter) =>
            message !== undefined && (requestIds === undefined || requestIds.includes(message.requestId));
          await redrive({
            letters: letters.map(readLetter).filter(wanted),
            stateOfTask: createReadTaskState({ tableName, region, signal }),
            send: createSend({ queueUrl, region, signal }),
            remove,
            done: ({ requestId, state }) => redriven.push({ requestId, task: state ?? "none" }),
          });
        });
        return redriven;
      }),
  };
}

async function rowOf({
  letter: { messageId, archivedAtMs, message },
  place,
}: {
  letter: ReadLetter;
  place: Pick<TaskPlace, "store">;
}): Promise<DeadLetterRow> {
  const row = { key: messageId, keptAtMs: archivedAtMs, kind: message?.type ?? "unreadable" };
  if (message === undefined) {
    const reason = "It cannot be read. npx sekisho dead-letters redrive --discard removes it.";
    return { ...row, requestId: null, task: "none", reason };
  }
  const stored = await place.store.get({ id: message.requestId });
  const words = stored?.task && describeOutcome(stored.task);
  return {
    ...row,
    requestId: message.requestId,
    task: stored?.state ?? "none",
    reason:
      stored === undefined
        ? "Its task could not even be recorded"
        : `Failed too often; its task: ${words ?? stored.state}`,
  };
}
