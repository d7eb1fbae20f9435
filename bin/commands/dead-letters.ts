/** `sekisho dead-letters`: lists the messages that a stage's workers gave up on, and sends them again. */
import { parseArgs } from "node:util";
import type { QueueMessage } from "../../lambdas/verification/task/messages.ts";
import { type ReadLetter, readLetter, withDeadLetters } from "../../lib/cli/aws/dead-letters/archive.ts";
import { createReadTaskState, createSend, redrive } from "../../lib/cli/aws/dead-letters/redrive.ts";
import { readStackOutputs } from "../../lib/cli/aws/stack-outputs.ts";
import { readStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const deadLettersList: Command = {
  help: `
sekisho dead-letters list [--stage NAME] [--json] [--config FILE]

Lists the messages that a stage's workers gave up on, with the state of their tasks. Their users know; the messages are
kept for 14 days. While they are listed nobody else can receive them; none is lost. One machine has no such list:
there a dead letter only fails its task.

  --stage NAME   of the configuration's stages; without it the first
  --json         as a JSON array
  --config FILE  instead of ./sekisho.config.json

Task "none" means that the task was never begun. Exit code: 0; 1 AWS refused; 2 bad usage; 3 AWS not reachable.
`,
  async run(run) {
    const { words, signal, print, note } = run;
    const { values } = parseArgs({
      args: words,
      options: { ...stageOptions, json: { type: "boolean" } },
    });
    const { named } = readStage(run, values);
    const { deadLettersUrl, tableName } = await readStackOutputs({ ...named, signal });
    const { region } = named.stage.verification;
    const stateOfTask = createReadTaskState({ tableName, region, signal });
    await withDeadLetters({ queueUrl: deadLettersUrl, region, signal }, async (letters) => {
      const rows: Row[] = [];
      for (const letter of letters.map(readLetter)) {
        const requestId = letter.message?.requestId;
        rows.push(rowOf(letter, requestId === undefined ? undefined : await stateOfTask({ requestId })));
      }
      rows.sort((a, b) => (a.archivedAt < b.archivedAt ? -1 : 1));
      if (values.json) print(JSON.stringify(rows, null, 2));
      else for (const row of rows) print(lineOf(row));
      if (rows.length === 0) note(`Stage ${named.stageName} has no dead letters.`);
    });
    return exitCodes.success;
  },
};

type Row = {
  messageId: string;
  archivedAt: string;
  kind: QueueMessage["type"] | "unreadable";
  /** Null where the message cannot be read. */
  requestId: string | null;
  task: string;
};

function rowOf({ messageId, archivedAtMs, message }: ReadLetter, state: string | undefined): Row {
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

export const deadLettersRedrive: Command = {
  help: `
sekisho dead-letters redrive (--all | REQUEST_ID...) [--discard] [--stage NAME] [--config FILE]

Sends dead letters to the workers again. A task that was never begun begins. Of a task that has ended only the delivery
of its answer is repeated: no agent runs twice. A message leaves the archive when it is in the queue.

  --all          all that can be read
  --discard      removes those that cannot be read, for good
  --stage NAME   of the configuration's stages; without it the first
  --config FILE  instead of ./sekisho.config.json

Exit code: 0; 1 one is not in the archive, or AWS refused; 2 bad usage; 3 AWS not reachable.
`,
  async run(run) {
    const { words, signal, print, note } = run;
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        all: { type: "boolean", default: false },
        discard: { type: "boolean", default: false },
        ...stageOptions,
      },
    });
    if (values.all && positionals.length > 0) throw new UsageError("--all or request ids, not both.");
    if (!values.all && positionals.length === 0 && !values.discard) {
      throw new UsageError("Request ids or --all are needed.");
    }
    const { stageName, stage } = readStage(run, values).named;
    const { deadLettersUrl, tableName, queueUrl } = await readStackOutputs({ stageName, stage, signal });
    const { region } = stage.verification;
    const wanted = new Set(positionals.map((id) => id.toLowerCase()));
    await withDeadLetters({ queueUrl: deadLettersUrl, region, signal }, async (letters, remove) => {
      const read = letters.map(readLetter);
      const chosen = read.filter(({ message }) => values.all || (message && wanted.has(message.requestId)));
      await redrive({
        letters: chosen,
        stateOfTask: createReadTaskState({ tableName, region, signal }),
        send: createSend({ queueUrl, region, signal }),
        remove,
        done({ requestId, state }) {
          wanted.delete(requestId);
          const what = state === "done" ? "its delivery is repeated, unless it certainly arrived" : "sent again";
          print(`${requestId}: ${what} (task: ${state ?? "none"})`);
        },
      });
      const unreadable = read.filter(({ message }) => message === undefined);
      if (values.discard) for (const letter of unreadable) await remove(letter);
      if (unreadable.length > 0) {
        note(`${unreadable.length} cannot be read: ${values.discard ? "removed" : "left; --discard removes them"}.`);
      }
    });
    for (const id of wanted) note(`${id} is not among the dead letters of stage ${stageName}.`);
    return wanted.size > 0 ? exitCodes.failed : exitCodes.success;
  },
};
