/** `sekisho dead-letters`: lists the messages that a stage's workers gave up on, and sends them again. */
import type { QueueMessage } from "@sekisho/verification/task/messages.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { readStage, stageOptions } from "../aws/stage.ts";
import { awsExits, defineCommand, exitCodes, flag, UsageError } from "../command.ts";
import { type ParsedDeadLetter, parseDeadLetter, withDeadLetters } from "./archive.ts";
import { createReadTaskState, createSend, redrive } from "./redrive.ts";

export const deadLettersList = defineCommand({
  name: "dead-letters list",
  about: `
Lists the dead letters of a stage, each with the state of its task (none: it never began). Their users have been notified.
Dead letters are kept for 14 days. On one machine a dead letter fails its task at once, and there is no list.`,
  options: { ...stageOptions, json: flag("prints a JSON array") },
  exits: awsExits(),
  async run(run) {
    const { signal, print, note, values } = run;
    const { named } = readStage(run, values);
    const { deadLettersUrl, tableName } = await readStackOutputs({ ...named, signal });
    const { region } = named.stage.verification;
    const stateOfTask = createReadTaskState({ tableName, region, signal });
    await withDeadLetters({ queueUrl: deadLettersUrl, region, signal }, async (deadLetters) => {
      const rows: Row[] = [];
      for (const deadLetter of deadLetters.map(parseDeadLetter)) {
        const requestId = deadLetter.message?.requestId;
        rows.push(
          rowOf(deadLetter, requestId === undefined ? undefined : await stateOfTask({ requestId })),
        );
      }
      rows.sort((a, b) => (a.archivedAt < b.archivedAt ? -1 : 1));
      if (values.json) print(JSON.stringify(rows, null, 2));
      else for (const row of rows) print(lineOf(row));
      if (rows.length === 0) note(`Stage ${named.stageName} has no dead letters.`);
    });
    return exitCodes.success;
  },
});

type Row = {
  messageId: string;
  archivedAt: string;
  kind: QueueMessage["type"] | "unreadable";
  /** Null where the message cannot be read. */
  requestId: string | null;
  task: string;
};

function rowOf(
  { messageId, archivedAtMs, message }: ParsedDeadLetter,
  state: string | undefined,
): Row {
  return {
    messageId,
    archivedAt: new Date(archivedAtMs).toISOString(),
    kind: message?.type ?? "unreadable",
    requestId: message?.requestId ?? null,
    task: state ?? "none",
  };
}

function lineOf({ archivedAt, kind, requestId, task, messageId }: Row): string {
  if (requestId === null) return `${archivedAt}  unreadable (message ${messageId})`;
  return `${archivedAt}  ${requestId}  ${kind.padEnd(7)}  task: ${task}`;
}

export const deadLettersRedrive = defineCommand({
  name: "dead-letters redrive",
  args: "[REQUEST_ID...]",
  about: `
Sends dead letters to the workers again. A task that never began begins now. Of a task that has ended only the answer is
delivered again; no agent runs twice.`,
  options: {
    all: flag("sends every readable dead letter, instead of request ids"),
    discard: flag("deletes unreadable dead letters for good"),
    ...stageOptions,
  },
  exits: awsExits("a request id is not in the archive"),
  async run(run) {
    const { signal, print, note, values, positionals } = run;
    if (values.all && positionals.length > 0)
      throw new UsageError("Give --all or request ids, not both.");
    if (!values.all && positionals.length === 0 && !values.discard) {
      throw new UsageError("Give request ids or --all.");
    }
    const { stageName, stage } = readStage(run, values).named;
    const { deadLettersUrl, tableName, queueUrl } = await readStackOutputs({
      stageName,
      stage,
      signal,
    });
    const { region } = stage.verification;
    const wantedIds = new Set(positionals.map((id) => id.toLowerCase()));
    await withDeadLetters(
      { queueUrl: deadLettersUrl, region, signal },
      async (deadLetters, remove) => {
        const parsedLetters = deadLetters.map(parseDeadLetter);
        const chosenLetters = parsedLetters.filter(
          ({ message }) => values.all || (message && wantedIds.has(message.requestId)),
        );
        await redrive({
          deadLetters: chosenLetters,
          stateOfTask: createReadTaskState({ tableName, region, signal }),
          send: createSend({ queueUrl, region, signal }),
          remove,
          done({ requestId, state }) {
            wantedIds.delete(requestId);
            const what =
              state === "done"
                ? "its answer is delivered again unless it is in the thread"
                : "sent again";
            print(`${requestId}: ${what} (task: ${state ?? "none"})`);
          },
        });
        const unreadable = parsedLetters.filter(({ message }) => message === undefined);
        if (values.discard) for (const deadLetter of unreadable) await remove(deadLetter);
        if (unreadable.length > 0) {
          const advice = values.discard ? "They were deleted." : "--discard deletes them.";
          note(`Unreadable dead letters: ${unreadable.length}. ${advice}`);
        }
      },
    );
    for (const id of wantedIds) note(`${id} is not among the dead letters of stage ${stageName}.`);
    return wantedIds.size > 0 ? exitCodes.failed : exitCodes.success;
  },
});
