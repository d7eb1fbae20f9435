/** Lists messages and answers to try again: the dead letters of a stage, or the undelivered answers of one machine. */
import type {
  DeadLetterRow,
  DeadLettersView,
  RedrivenTask,
} from "@sekisho/local/web/operators-api.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { encodeQueueMessage } from "@sekisho/verification/task/encode-message.ts";
import type { QueueMessage } from "@sekisho/verification/task/messages.ts";
import { queueGroupOf, type Task } from "@sekisho/verification/task/task.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import {
  type ParsedDeadLetter,
  parseDeadLetter,
  withDeadLetters,
} from "../dead-letters/archive.ts";
import { createReadTaskState, createSend, redrive } from "../dead-letters/redrive.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { describeOutcome } from "../tasks/text.ts";
import { isUndelivered } from "./task-row.ts";

export type DeadLetters = {
  view(): Promise<DeadLettersView>;
  /** Without `requestIds`, all that can be read. Resolves to those that are on their way again. */
  redrive(requestIds: readonly string[] | undefined): Promise<RedrivenTask[]>;
};

const aboutArchive =
  "Messages that the stage's workers gave up on. The users have been told. A redrive starts tasks that never started. For tasks that have ended, it only delivers the answer again. No agent runs twice.";
const aboutAnswers =
  "On one machine there are no dead letters: a task fails at once, and its user is told. This list shows tasks whose answer Slack did not accept. A redrive posts the answer again. No agent runs again.";

type StageArchive = { named: NamedStage; zone: Pick<TaskZone, "store">; signal: AbortSignal };

/** The messages that a stage keeps for 14 days. Listing hides them from other readers for a while, so calls run one at a time. */
export function createArchivedDeadLetters({ named, zone, signal }: StageArchive): DeadLetters {
  const { region } = named.stage.verification;
  let last: Promise<unknown> = Promise.resolve();

  function runInOrder<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  }

  async function toRow({
    messageId,
    archivedAtMs,
    message,
  }: ParsedDeadLetter): Promise<DeadLetterRow> {
    const row = { key: messageId, keptAtMs: archivedAtMs, kind: message?.type ?? "unreadable" };
    if (message === undefined) {
      const reason = `It cannot be read. ${sekisho} dead-letters redrive --discard removes it.`;
      return { ...row, requestId: null, task: "none", reason };
    }
    const { requestId } = message;
    const storedItem = await zone.store.get({ id: requestId });
    if (storedItem === undefined)
      return { ...row, requestId, task: "none", reason: "The task was never stored." };
    const outcome = (storedItem.task && describeOutcome(storedItem.task)) ?? storedItem.state;
    return {
      ...row,
      requestId,
      task: storedItem.state,
      reason: `Failed too often. Task: ${outcome}`,
    };
  }

  return {
    view: () =>
      runInOrder(async () => {
        const { deadLettersUrl: queueUrl } = await readStackOutputs({ ...named, signal });
        const rows: DeadLetterRow[] = [];
        await withDeadLetters({ queueUrl, region, signal }, async (deadLetters) => {
          for (const deadLetter of deadLetters) rows.push(await toRow(parseDeadLetter(deadLetter)));
        });
        return { about: aboutArchive, rows: rows.sort((a, b) => a.keptAtMs - b.keptAtMs) };
      }),
    redrive: (requestIds) =>
      runInOrder(async () => {
        const { deadLettersUrl, tableName, queueUrl } = await readStackOutputs({
          ...named,
          signal,
        });
        const redrivenTasks: RedrivenTask[] = [];
        await withDeadLetters(
          { queueUrl: deadLettersUrl, region, signal },
          async (deadLetters, remove) => {
            const isWanted = ({ message }: ParsedDeadLetter) =>
              message !== undefined &&
              (requestIds === undefined || requestIds.includes(message.requestId));
            await redrive({
              deadLetters: deadLetters.map(parseDeadLetter).filter(isWanted),
              stateOfTask: createReadTaskState({ tableName, region, signal }),
              send: createSend({ queueUrl, region, signal }),
              remove,
              done: ({ requestId, state }) =>
                redrivenTasks.push({ requestId, task: state ?? "none" }),
            });
          },
        );
        return redrivenTasks;
      }),
  };
}

/** The number of newest finished tasks that are searched. */
const maxSearched = 1000;
const pageSize = 200;

/** On one machine a dead letter fails its task at once, so the list holds the answers that Slack did not accept instead. */
export function createUndeliveredAnswers({ zone }: { zone: TaskZone }): DeadLetters {
  async function* listUndelivered(): AsyncGenerator<Task> {
    let cursor: string | undefined;
    for (let searchedCount = 0; searchedCount < maxSearched; searchedCount += pageSize) {
      const page = await zone.newestIds({ state: "done", cursor, limit: pageSize });
      for (const id of page.ids) {
        const task = (await zone.store.get({ id }))?.task;
        if (task !== undefined && isUndelivered(task)) yield task;
      }
      cursor = page.cursor;
      if (cursor === undefined) return;
    }
  }

  return {
    async view() {
      const rows: DeadLetterRow[] = [];
      for await (const task of listUndelivered()) {
        const { id, state, history, receivedAtMs } = task;
        const keptAtMs = history.at(-1)?.atMs ?? receivedAtMs;
        const reason = `Slack did not accept the answer (${describeOutcome(task)})`;
        rows.push({ key: id, requestId: id, kind: "answer", keptAtMs, task: state, reason });
      }
      return { about: aboutAnswers, rows };
    },
    async redrive(requestIds) {
      const redrivenTasks: RedrivenTask[] = [];
      for await (const task of listUndelivered()) {
        if (requestIds !== undefined && !requestIds.includes(task.id)) continue;
        await sendRedrive({ zone, task });
        redrivenTasks.push({ requestId: task.id, task: task.state });
      }
      return redrivenTasks;
    },
  };
}

/** Undefined if its answer can be delivered once more. */
export function redriveRefusal(task: Task): string | undefined {
  return isUndelivered(task) ? undefined : "has no answer left to deliver.";
}

export async function sendRedrive({
  zone,
  task,
}: {
  zone: Pick<TaskZone, "queue">;
  task: Task;
}): Promise<void> {
  const message: QueueMessage = { type: "redrive", requestId: task.id };
  await zone.queue.send({ body: encodeQueueMessage(message), group: queueGroupOf(task) });
}
